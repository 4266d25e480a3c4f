"""How an attempt is run and stopped, what receives its messages, and how it ended: the seam to the engine."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import Enum, auto
from typing import Protocol

from msgspec import Struct

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.retry import AttemptEnd, WasStopped
from tenure.core.model.trail import LogLine, Note, Usage
from tenure.core.values.failure import Failure
from tenure.core.values.span import Span
from tenure.execution.protocol.durable import Answer, Question


class StopReason(Enum):
    """Why an attempt is to stop."""

    CANCELLED = auto()
    """Its job was cancelled: ask it to stop, and kill it after its grace."""
    LOST = auto()
    """Its lease is lost: kill it and discard the outcome; in a shared runner after half of the time left."""
    SHUTDOWN = auto()
    """The worker ends and hands it back: kill it, in a shared runner after half a second. Its report counts
    only if it came before."""


class StopRequest:
    """A request to stop one attempt, which may come before the attempt or never; it only ever gets harder."""

    __slots__ = ("_on_asked", "_on_prolonged", "_waiting", "deadline", "reason")

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        """Why the attempt is to stop; None as long as it is not."""
        self._waiting: list[asyncio.Future[None]] | None = None  # made when first needed: few attempts wait
        self.deadline: float | None = None
        """The time of the monotonic clock after which nothing of the attempt may live."""
        self._on_prolonged: Callable[[float], None] | None = None
        self._on_asked: Callable[[], None] | None = None

    @property
    def is_final(self) -> bool:
        """Whether the attempt is to be killed at once."""
        return self.reason is not None and self.reason is not StopReason.CANCELLED

    def prolong(self, deadline: float) -> None:
        """Let the attempt live until this time of the monotonic clock, even if this process freezes."""
        self.deadline = deadline
        if self._on_prolonged is not None:
            self._on_prolonged(deadline)

    def on_prolonged(self, callback: Callable[[float], None]) -> None:
        """Call this with the deadline whenever it changes."""
        self._on_prolonged = callback

    def on_asked(self, callback: Callable[[], None] | None) -> None:
        """Call this at each request; a task that waits for it would cost each attempt more."""
        self._on_asked = callback

    def ask(self, reason: StopReason) -> None:
        """Ask to stop; losing the lease or shutting down overrules cancelling, and nothing overrules them."""
        if self.reason in {None, StopReason.CANCELLED}:
            self.reason = reason
            for waiting in self._waiting or ():
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting = None
            if self._on_asked is not None:
                self._on_asked()

    async def wait(self) -> StopReason:
        """Wait for a request to stop."""
        while self.reason is None:
            await self._wait_for_request()
        return self.reason

    async def wait_until_final(self) -> StopReason:
        """Wait until the attempt is to be killed at once."""
        while not self.is_final:
            await self._wait_for_request()
        return await self.wait()

    async def _wait_for_request(self) -> None:
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(asked)
        await asked


class AttemptListener(Protocol):
    """Receives what an attempt sends while it runs; no method but the last two may take long."""

    def log(self, line: LogLine) -> None:
        """A line of output or of `ctx.log`."""

    def progress(self, progress: Progress) -> None:
        """How far it has come."""

    def emit(self, note: Note) -> None:
        """An event of its own, or a hook that failed."""

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Something that it measured; the names are those of `tenure.execution.handler.metrics`."""

    def span(self, span: Span) -> None:
        """A span that it made, and that has ended."""

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Enqueue children; a `TenureError` is passed on to the handler."""

    async def durable(self, question: Question) -> Answer:
        """Answer a question about the job's progress; the same holds for errors.

        What is to be kept has happened already: while the store is away, this waits for it.
        """


class AttemptTerms(Struct, frozen=True):
    """How an attempt is run: for how long, how it is stopped, and what receives its messages."""

    timeout: timedelta
    grace: timedelta
    stop: StopRequest
    listener: AttemptListener

    def stopped_early(self) -> "Ended | None":
        """How the attempt ended if it is asked to stop before it begins; None if it may begin."""
        if self.stop.reason is None:
            return None
        return Ended(None if self.stop.is_final else WasStopped(), Usage())


class Unstarted(Struct, frozen=True):
    """The attempt has not begun: there was no process for it, through no fault of its own."""

    error: Failure


class Interrupted(Struct, frozen=True):
    """The attempt had begun and was killed, and may not have caused that itself."""

    error: Failure


class Ended(Struct, frozen=True):
    """How an attempt ended, None after LOST or SHUTDOWN, and what its processes used."""

    end: AttemptEnd | Unstarted | Interrupted | None
    usage: Usage
