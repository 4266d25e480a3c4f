"""One attempt in a runner, as the worker sees it: its messages, and how far it is in being stopped."""

import asyncio
import math
from datetime import timedelta
from time import monotonic
from typing import Protocol

from tenure.core.errors import InvalidInput
from tenure.core.model.retry import HandlerReport
from tenure.core.values.text import storable
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended, Interrupted, StopReason
from tenure.execution.parent.endings import Collateral, StopLog, classify_ending, usage_of
from tenure.execution.parent.output import STREAMS, Journal, OutputStream, output_streams
from tenure.execution.parent.patience import finish
from tenure.execution.parent.reports import MessageSink, sanitized
from tenure.execution.parent.zygote_client import ChildExit
from tenure.execution.protocol.frames import Garbage
from tenure.execution.protocol.messages import (
    DurableAnswer,
    DurableQuestion,
    ErrorReply,
    Exited,
    Finished,
    FromRunner,
    OutputMessage,
    SpawnReply,
    SpawnRequest,
)

AT_ONCE = 0.5
"""Seconds that an attempt in a shared runner has to end by itself, before its runner is killed."""

MOST_REQUESTED = 10_000
"""The most jobs of one attempt that may wait for the store; to stop reading would harm its neighbours."""

_UNMEASURED = Exited(0, None, None, timedelta(0), 0)
"""The ending of an attempt among others, whose own usage cannot be known."""

_NO_USAGE = usage_of(_UNMEASURED)


class AttemptHost(Protocol):
    """The runner that an attempt is in."""

    loop: asyncio.AbstractEventLoop
    is_shared: bool
    """Whether it runs several attempts: one among others is asked to stop before it is killed."""

    def ask_to_stop(self, attempt: "RunnerAttempt") -> None:
        """Ask an attempt to stop."""

    def kill(self, attempt: "RunnerAttempt") -> None:
        """Kill the runner because of this attempt."""

    def reply(self, attempt: "RunnerAttempt", reply: SpawnReply | DurableAnswer | ErrorReply) -> None:
        """Send the reply to a request for jobs, or to a question about progress."""

    def wake_at(self, due: float) -> None:
        """Have `fall_due` called at this time, or soon after."""


class RunnerAttempt:
    """One attempt from its beginning until `over` is set."""

    __slots__ = (
        "_has_asked", "_host", "_journal", "_loop", "_messages", "_output", "_replying", "_requests",
        "_terms", "_unanswered", "due", "ending", "error", "garbage", "has_lost_its_runner",
        "has_lost_its_zygote", "is_stopping", "is_unread", "number", "over", "report", "stop", "stop_log",
    )  # fmt: skip

    def __init__(self, host: AttemptHost, terms: AttemptTerms) -> None:
        self._loop = host.loop
        self._host = host
        self._terms = terms
        self._journal: Journal | None = None
        self._messages: MessageSink | None = None
        self._output: dict[str, OutputStream] | None = None
        self._requests: list[SpawnRequest] | None = None
        self._has_asked = False
        self._unanswered = 0
        self._replying: asyncio.Task[None] | None = None
        self.number = 0
        self.stop = terms.stop
        self.due = self._loop.time() + terms.timeout.total_seconds()
        """When its timeout or its grace ends."""
        self.over: asyncio.Future[None] = self._loop.create_future()
        self.stop_log = StopLog()
        self.report: HandlerReport | None = None
        self.garbage: str | None = None
        self.is_unread = False
        self.is_stopping = False
        self.ending: ChildExit | Collateral | None = None
        self.error: Exception | None = None
        """What the listener raised, which is not the attempt's fault."""
        self.has_lost_its_runner = False
        self.has_lost_its_zygote = False

    @property
    def is_untouched(self) -> bool:
        """Whether the runner was sent nothing about it but its beginning."""
        return not self.is_stopping and not self._has_asked

    def look(self) -> None:
        """Act on a request to stop, if there is one."""
        reason = self.stop.reason
        if reason is None or self.ending is not None:
            return
        if reason is not StopReason.CANCELLED:
            self.stop_log.record(reason, self._terms.timeout)
            if not self._host.is_shared:
                self._host.kill(self)
                return
            self._ask_to_stop(self._patience())
        elif not self.is_stopping:
            self.stop_log.record(reason, self._terms.timeout)
            self._ask_to_stop(self._terms.grace.total_seconds())

    def fall_due(self) -> None:
        """Its time is over: ask it to stop, or, if it was asked, have it killed."""
        if self.is_stopping:
            self.due = math.inf
            self._host.kill(self)
        else:
            self.stop_log.record(None, self._terms.timeout)
            self._ask_to_stop(self._terms.grace.total_seconds())

    def take(self, message: FromRunner) -> None:
        """Take in a message of it, except `Finished`; what no attempt should send is `garbage`."""
        try:
            if isinstance(message, SpawnRequest):
                self._request(message)
            elif isinstance(message, DurableQuestion):
                self._has_asked = True
                self._sink().answers.begin(message, lambda reply: self._host.reply(self, reply))
            elif isinstance(message, OutputMessage):
                if message.level not in STREAMS:
                    raise Garbage("output of no known stream")
                self.feed(message.level, message.text.encode(errors="replace"))
            else:
                self._sink().take(message)
        except (Garbage, InvalidInput) as error:
            self.garbage = storable(str(error))
            self._host.kill(self)
        except Exception as error:  # the listener's own
            self._fail(error)

    def feed(self, level: str, data: bytes) -> None:
        """Take in some of its output."""
        if self._output is None:
            self._output = output_streams(self._log())
        try:
            self._output[level].feed(data)
        except Exception as error:  # the listener's own
            self._fail(error)

    def finish(self, message: Finished) -> None:
        """Take in its report, which does not count if it was sent because the worker ends."""
        if not (self.stop_log.dropped is StopReason.SHUTDOWN and message.was_asked):
            self.report = sanitized(message.end)
        if message.cpu or message.peak_memory:
            cpu = timedelta(seconds=min(max(0.0, message.cpu), 1e9))  # in this order NaN becomes 0, too
            self.ending = Exited(0, None, None, cpu, min(max(message.peak_memory, 0), 2**62))
        else:
            self.ending = _UNMEASURED

    def settle(self, ending: ChildExit | Collateral) -> None:
        """End it; `ending` counts unless its report has said what it used."""
        if self.ending is None:
            self.ending = ending
        self.stop.on_asked(None)
        try:
            for stream in (self._output or {}).values():
                stream.close()
        except Exception as error:  # the listener's own
            self._fail(error)
        if not self.over.done():
            self.over.set_result(None)

    @property
    def is_answered(self) -> bool:
        """Whether all that it requested is done."""
        return self._replying is None and (self._messages is None or self._messages.is_answered)

    async def ended(self) -> Ended:
        """How it ended, once it is over: what it requested before its end is still done."""
        if self._replying is not None:
            await finish(self._replying, self.stop, self.stop_log)
        if self._messages is not None and not self._messages.is_answered:
            answering = self._loop.create_task(self._messages.answered())
            await finish(answering, self.stop, self.stop_log)
            if answering.done() and not answering.cancelled():
                answering.result()  # raises the listener's own error
        return self.judged()

    def judged(self) -> Ended:
        """How it ended, if all that it requested is done."""
        if self.error is not None:
            raise self.error
        assert self.ending is not None  # noqa: S101  set before it is over
        end = classify_ending(self.stop_log, self, self.ending)
        if isinstance(end, Interrupted):
            self._log().warn_handed_back(end.error)
        return Ended(end, _NO_USAGE if self.ending is _UNMEASURED else usage_of(self.ending))

    def _ask_to_stop(self, seconds: float) -> None:
        due = self._loop.time() + seconds
        self.due = min(due, self.due) if self.is_stopping else due
        self._host.wake_at(self.due)
        if not self.is_stopping:
            self.is_stopping = True
            self._host.ask_to_stop(self)

    def _patience(self) -> float:
        """How long it may take to end by itself: after a lost lease, half of the time until the deadline."""
        if self.stop.reason is not StopReason.LOST or self.stop.deadline is None:
            return AT_ONCE
        return max((self.stop.deadline - monotonic()) / 2, 0.0)

    def _request(self, message: SpawnRequest) -> None:
        self._has_asked = True
        if self._requests is None:
            self._requests = []
        if self._unanswered and self._unanswered + len(message.jobs) > MOST_REQUESTED:
            problem = f"more than {MOST_REQUESTED:,} jobs of this attempt wait to be enqueued"
            self._host.reply(self, ErrorReply(message.number, "TenureError", [problem]))
            return
        self._requests.append(message)
        self._unanswered += len(message.jobs)
        if self._replying is None or self._replying.done():
            self._replying = self._loop.create_task(self._reply(self._sink(), self._requests))

    async def _reply(self, messages: MessageSink, requests: list[SpawnRequest]) -> None:
        """Have jobs enqueued, in the order of the requests."""
        try:
            while requests:
                message = requests.pop(0)
                self._host.reply(self, await messages.reply(message))
                self._unanswered -= len(message.jobs)
        except Exception as error:  # the listener's own
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Kill it, since its listener failed; `ended` raises the error, which is not the attempt's."""
        self.error = error
        self._host.kill(self)

    def _sink(self) -> MessageSink:
        if self._messages is None:
            self._messages = MessageSink(self._terms.listener, self._log())
        return self._messages

    def _log(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._terms.listener.log)
        return self._journal
