"""One attempt in a runner, as the worker sees it: what it has said, and how far it is in being stopped."""

import asyncio
import math
from datetime import timedelta
from time import monotonic
from typing import Any, Protocol

from tenure.core.errors import InvalidInput
from tenure.core.text import storable
from tenure.execution.conversation import Conversation, Report, trusted
from tenure.execution.endings import Course, Swept, name, usage_of
from tenure.execution.halting import Ended, Halt, Halting, Interrupted, Listener
from tenure.execution.nursery import Ending
from tenure.execution.output import Budget, Journal, Stream
from tenure.execution.protocol import (
    Exited,
    Finished,
    FromRunner,
    Garbage,
    Printed,
    Refused,
    SpawnAsked,
    Spawned,
)

AT_ONCE = 0.5
"""Seconds that an attempt has to end by itself, asked for the sake of others, where its runner is shared."""

MOST_ASKED = 10_000
"""How many jobs of one attempt may wait for the store; to listen no more would harm its neighbours."""

_LAST_WORDS = 1.0
_STREAMS = frozenset({"stdout", "stderr"})
_UNMEASURED = Exited(0, None, None, timedelta(0), 0)
"""How an attempt has ended of which nobody can tell what it used among others."""

_NO_USAGE = usage_of(_UNMEASURED)


class Host(Protocol):
    """The runner that an attempt is in."""

    loop: asyncio.AbstractEventLoop
    is_shared: bool
    """Whether others may be in it: an attempt alone in it is killed where one among others is asked first."""

    def ask_to_stop(self, guest: "Guest") -> None:
        """Pass on that it is to stop."""

    def kill(self, guest: "Guest") -> None:
        """Kill the runner because of this one."""

    def answer(self, guest: "Guest", answer: Spawned | Refused) -> None:
        """Pass on what came of the jobs that it asked for."""

    def wake_at(self, due: float) -> None:
        """Have `fall_due` called then, or soon after."""


class Guest:
    """Between its beginning and the moment when `over` is set, nothing of it may be forgotten."""

    __slots__ = (
        "_answering", "_asked", "_conversation", "_grace", "_host", "_journal", "_listener", "_loop",
        "_streams", "_timeout", "_unanswered", "course", "due", "ending", "error", "garbage", "halt",
        "has_lost_its_runner", "has_lost_its_zygote", "is_stopping", "is_unread", "number", "over", "report",
    )  # fmt: skip

    def __init__(
        self, host: Host, listener: Listener, halt: Halting, timeout: timedelta, grace: timedelta
    ) -> None:
        self._loop = host.loop
        self._host = host
        self._listener = listener
        self._timeout = timeout
        self._grace = grace
        self._journal: Journal | None = None
        self._conversation: Conversation | None = None
        self._streams: dict[str, Stream] | None = None
        self._asked: list[SpawnAsked] | None = None
        self._unanswered = 0
        self._answering: asyncio.Task[None] | None = None
        self.number = 0
        self.halt = halt
        self.due = self._loop.time() + timeout.total_seconds()
        """When to do the next thing about it."""
        self.over: asyncio.Future[None] = self._loop.create_future()
        self.course = Course()
        self.report: Report | None = None
        self.garbage: str | None = None
        self.is_unread = False
        self.is_stopping = False
        self.ending: Ending | Swept | None = None
        self.error: Exception | None = None
        """What the listener raised, who is ours."""
        self.has_lost_its_runner = False
        self.has_lost_its_zygote = False

    @property
    def is_untouched(self) -> bool:
        """Whether all that the runner was ever told of it is that it should begin."""
        return not self.is_stopping and self._asked is None

    def look(self) -> None:
        """See whether somebody has asked it to stop."""
        asked = self.halt.asked
        if asked is None or self.ending is not None:
            return
        if asked is not Halt.CANCELLED:
            self.course.dropped = asked
            if not self._host.is_shared:
                self._host.kill(self)
                return
            self._stop(self._patience())
        elif not self.is_stopping:
            self.course.is_cancelled = True
            self._stop(self._grace.total_seconds())

    def fall_due(self) -> None:
        """Its time is over: ask it to stop, or, if it was asked, have it killed."""
        if self.is_stopping:
            self.due = math.inf
            self._host.kill(self)
        else:
            self.course.timed_out = self._timeout
            self._stop(self._grace.total_seconds())

    def take(self, message: FromRunner) -> None:
        """Take in what it says, but for its last word; what no attempt should say is `garbage`."""
        try:
            if isinstance(message, SpawnAsked):
                self._ask(message)
            elif isinstance(message, Printed):
                if message.level not in _STREAMS:
                    raise Garbage("output of no known stream")
                self.feed(message.level, message.text.encode(errors="replace"))
            else:
                self._heard().take(message)
        except (Garbage, InvalidInput) as error:
            self.garbage = storable(str(error))
            self._host.kill(self)
        except Exception as error:  # the listener's own
            self._fail(error)

    def feed(self, level: str, data: bytes) -> None:
        """Take in some of its output."""
        if self._streams is None:
            output = Budget(self._written(), "the output")
            self._streams = {each: Stream(each, output) for each in sorted(_STREAMS)}
        try:
            self._streams[level].feed(data)
        except Exception as error:  # the listener's own
            self._fail(error)

    def finish(self, message: Finished) -> None:
        """Take in its last word; it counts for nothing if it was said because the worker ends."""
        if not (self.course.dropped is Halt.SHUTDOWN and message.was_asked):
            self.report = trusted(message.end)
        if message.cpu or message.peak_memory:
            cpu = timedelta(seconds=min(max(0.0, message.cpu), 1e9))  # in this order NaN is nothing, too
            self.ending = Exited(0, None, None, cpu, min(max(message.peak_memory, 0), 2**62))
        else:
            self.ending = _UNMEASURED

    def settle(self, ending: Ending | Swept) -> None:
        """It is over; `ending` counts unless its last word has said what it used."""
        if self.ending is None:
            self.ending = ending
        self.halt.on_asked(None)
        try:
            for stream in (self._streams or {}).values():
                stream.close()
        except Exception as error:  # the listener's own
            self._fail(error)
        if not self.over.done():
            self.over.set_result(None)

    async def ended(self) -> Ended:
        """How it ended, once it is over: what it asked for before its end is still done."""
        if self._answering is not None:
            await self._hear_out(self._answering)
        if self.error is not None:
            raise self.error
        assert self.ending is not None  # noqa: S101  set before it is over
        end = name(self.course, self, self.ending)
        if isinstance(end, Interrupted):
            self._written().add("warning", f"{end.error.message}; it is handed back")
        return Ended(end, _NO_USAGE if self.ending is _UNMEASURED else usage_of(self.ending))

    def _stop(self, patience: float) -> None:
        due = self._loop.time() + patience
        self.due = min(due, self.due) if self.is_stopping else due
        self._host.wake_at(self.due)
        if not self.is_stopping:
            self.is_stopping = True
            self._host.ask_to_stop(self)

    def _patience(self) -> float:
        """How long it may take to end by itself: who has lost its lease is gone before that has run out."""
        if self.halt.asked is not Halt.LOST or self.halt.deadline is None:
            return AT_ONCE
        return max((self.halt.deadline - monotonic()) / 2, 0.0)

    def _ask(self, message: SpawnAsked) -> None:
        if self._asked is None:
            self._asked = []
        if self._unanswered and self._unanswered + len(message.jobs) > MOST_ASKED:
            problem = f"more than {MOST_ASKED:,} jobs of this attempt wait to be enqueued"
            self._host.answer(self, Refused(message.number, "TenureError", [problem]))
            return
        self._asked.append(message)
        self._unanswered += len(message.jobs)
        if self._answering is None or self._answering.done():
            self._answering = self._loop.create_task(self._answer(self._heard(), self._asked))

    async def _answer(self, conversation: Conversation, asked: list[SpawnAsked]) -> None:
        """Have jobs enqueued, in the order in which they were asked for."""
        try:
            while asked:
                message = asked.pop(0)
                self._host.answer(self, await conversation.answer(message))
                self._unanswered -= len(message.jobs)
        except Exception as error:  # the listener's own
            self._fail(error)

    async def _hear_out(self, answering: "asyncio.Task[None]") -> None:
        halted = asyncio.ensure_future(self.halt.wait_for_the_end())
        either: set[asyncio.Future[Any]] = {answering, halted}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            halted.cancel()
        if not answering.done():
            self.course.dropped = self.halt.asked
            await asyncio.wait({answering}, timeout=_LAST_WORDS)
            answering.cancel()

    def _fail(self, error: Exception) -> None:
        """End it, since nobody can hear it; that is not its own doing, and is told to whoever runs it."""
        self.error = error
        self._host.kill(self)

    def _heard(self) -> Conversation:
        if self._conversation is None:
            self._conversation = Conversation(self._listener, self._written())
        return self._conversation

    def _written(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._listener.log)
        return self._journal
