"""Sends the ids of jobs that were put in line, after the commit: best effort, and never in a caller's way.

A job whose message is not sent waits for a sweep. So what waits here is bounded, and is kept while the broker
is away for a moment.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from uuid import UUID

from tenure.core.signals import Announce, MessagesSent
from tenure.relay.messages import body
from tenure.relay.messages.transport import MOST_AT_ONCE, Transport, TransportFailed

MOST_WAITING = 20_000
"""How many ids wait to be sent; those beyond are dropped, the oldest first."""

AT_ONCE = 4
"""How many calls are under way at a time."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
TELL_EVERY = 60.0
"""Seconds after which it is told again that the broker fails."""

LAST_SECONDS = 5.0
"""How long the end of a process waits for what is still to be sent."""


class MessageSender:
    """Sends what it is given, in tasks of its own."""

    def __init__(self, transport: Transport, store: UUID, on_signal: Announce) -> None:
        self._transport = transport
        self._store = store
        self._on_signal = on_signal
        self._waiting: deque[UUID] = deque()
        self._has_more = asyncio.Event()
        self._sending = 0
        self._is_done = asyncio.Event()
        self._is_done.set()
        self._failures = 0
        self._goes_on_at = 0.0
        self._told_at = -TELL_EVERY

    @property
    def has_unsent(self) -> bool:
        """Whether anything is still to be sent."""
        return not self._is_done.is_set()

    def send(self, jobs: Iterable[UUID]) -> None:
        """Have messages sent for these jobs. Returns at once, and never fails."""
        self._waiting.extend(jobs)
        dropped = len(self._waiting) - MOST_WAITING
        for _ in range(dropped):
            self._waiting.popleft()
        if dropped > 0:
            self._on_signal(MessagesSent(0, dropped, f"more than {MOST_WAITING:,} waited to be sent"))
        if self._waiting:
            self._is_done.clear()
            self._has_more.set()

    @asynccontextmanager
    async def running(self, *, last_seconds: float | None = None) -> AsyncIterator["MessageSender"]:
        """Send while the context lasts; at its end what still waits is sent, for a few seconds."""
        senders = [asyncio.create_task(self._run()) for _ in range(AT_ONCE)]
        try:
            yield self
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS if last_seconds is None else last_seconds):
                    await self._is_done.wait()
            for sender in senders:
                sender.cancel()
            await asyncio.wait(senders)

    async def _run(self) -> None:
        while True:
            await self._has_more.wait()
            if (rest := self._goes_on_at - time.monotonic()) > 0:
                await asyncio.sleep(rest)
            jobs = self._take()
            if not jobs:
                continue
            self._sending += 1
            try:
                await self._send(jobs)
            finally:
                self._sending -= 1
                self._note_done()

    def _take(self) -> list[UUID]:
        jobs = [self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting)))]
        if not self._waiting:
            self._has_more.clear()
        return jobs

    async def _send(self, jobs: list[UUID]) -> None:
        """Send one batch; what the broker does not take waits again, as long as there is room."""
        try:
            refused = await self._transport.send([body.written(job, self._store) for job in jobs])
        except TransportFailed as error:
            self._put_back(jobs, str(error))
            return
        if len(refused) < len(jobs):
            self._on_signal(MessagesSent(len(jobs) - len(refused)))
        if refused:
            problem = f"the broker has refused {len(refused)} of {len(jobs)} messages"
            self._put_back([jobs[n] for n in refused], problem)
        else:
            self._failures = 0

    def _put_back(self, jobs: list[UUID], error: str) -> None:
        self._waiting.extendleft(reversed(jobs))
        self._has_more.set()
        self._pause(error)

    def _pause(self, error: str) -> None:
        """Let all senders rest, longer each time; those that fail together count as one."""
        now = time.monotonic()
        if now >= self._goes_on_at:
            self._goes_on_at = now + min(FIRST_PAUSE * 2.0 ** min(self._failures, 10), LONGEST_PAUSE)
            self._failures += 1
        if now - self._told_at >= TELL_EVERY:
            self._told_at = now
            self._on_signal(MessagesSent(0, 0, error))

    def _note_done(self) -> None:
        if not self._waiting and not self._sending:
            self._is_done.set()
