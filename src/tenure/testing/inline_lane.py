"""Runs attempts in the process of a test, without a child: the lane of the harness.

The engine's side of an attempt lives on the loop of the library's thread, with the store. The handler runs on
the test's side, in its thread or on its loop (`stages`), and sends what a child would send.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from tenure.execution.handler.handler import Handler
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended, StopReason
from tenure.execution.parent.endings import StopLog, classify_ending, usage_of
from tenure.execution.parent.output import Journal
from tenure.execution.parent.reports import MessageSink
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.frames import HEAD, frame, read
from tenure.execution.protocol.messages import (
    FROM_CHILD,
    TO_CHILD,
    Begin,
    Cancel,
    DurableAnswer,
    DurableQuestion,
    ErrorReply,
    Exited,
    SpawnReply,
    SpawnRequest,
)
from tenure.testing.inline_channel import InlineChannel

_ENDED = Exited(0, None, None, timedelta(0), 0)

Beat = Callable[[], Coroutine[Any, Any, None]]
"""Asks the store which attempts are to stop, and asks them."""


class InlineAttempt:
    """One attempt: `assignment`, `handler` and `channel` are for the test's side."""

    def __init__(self, assignment: Assignment, handler: Handler, terms: AttemptTerms, beat: Beat) -> None:
        self.assignment = assignment
        self.handler = handler
        self.channel: InlineChannel = InlineChannel(self._post, self._beat_now)
        self._loop = asyncio.get_running_loop()
        self._terms = terms
        self._beat = beat
        self._sink = MessageSink(terms.listener, Journal(terms.listener.log))
        self._stop_log = StopLog()
        self._replies: set[asyncio.Task[None]] = set()
        self._over: asyncio.Future[None] = self._loop.create_future()

    async def ended(self) -> Ended:
        """Wait for its end; what it has requested is done first."""
        stop = self._terms.stop
        stop.on_asked(self._ask_to_stop)
        try:
            await self._over
            await asyncio.gather(*self._replies)
            await self._sink.answered()
        finally:
            stop.on_asked(None)
        return Ended(classify_ending(self._stop_log, self._sink, _ENDED), usage_of(_ENDED))

    def vanish(self) -> None:
        """Let it end as if its process and its worker had died: nothing is settled. From any thread."""
        self._loop.call_soon_threadsafe(self._vanish)

    def _vanish(self) -> None:
        self._stop_log.record(StopReason.LOST, self._terms.timeout)
        self._end()

    def _post(self, body: bytes) -> None:
        self._loop.call_soon_threadsafe(self._take, body)

    def _take(self, body: bytes) -> None:
        try:
            message = read(FROM_CHILD, body[HEAD:])
            if isinstance(message, SpawnRequest):
                self._replies.add(self._loop.create_task(self._reply(message)))
            elif isinstance(message, DurableQuestion):
                self._sink.answers.begin(message, self._deliver)
            else:
                self._sink.take(message)
        except Exception as error:  # what no handler can send, or the listener's own
            self._end(error)
        if self._sink.report is not None:
            self._end()

    async def _reply(self, request: SpawnRequest) -> None:
        self._deliver(await self._sink.reply(request))

    def _deliver(self, reply: SpawnReply | DurableAnswer | ErrorReply) -> None:
        received = read(TO_CHILD, frame(reply)[HEAD:])
        if not isinstance(received, Begin):
            self.channel.receive(received)

    def _end(self, error: Exception | None = None) -> None:
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)

    def _ask_to_stop(self) -> None:
        self._stop_log.record(self._terms.stop.reason, self._terms.timeout)
        self.channel.receive(Cancel())

    def _beat_now(self) -> None:
        asyncio.run_coroutine_threadsafe(self._beat(), self._loop).result()


MakeAttempt = Callable[[Assignment, Handler, AttemptTerms, Beat], InlineAttempt]


class InlineLane:
    """Runs each attempt where `post` puts it."""

    def __init__(
        self,
        handler_of: Callable[[Assignment], Handler],
        post: Callable[[InlineAttempt], None],
        beat: Beat,
        make_attempt: MakeAttempt = InlineAttempt,
    ) -> None:
        self._handler_of = handler_of
        self._post = post
        self._beat = beat
        self._make_attempt = make_attempt

    async def run(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run one attempt and return how it ended."""
        if (stopped := terms.stopped_early()) is not None:
            return stopped
        attempt = self._make_attempt(assignment, self._handler_of(assignment), terms, self._beat)
        self._post(attempt)
        return await attempt.ended()
