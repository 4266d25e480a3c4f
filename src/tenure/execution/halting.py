"""How a running attempt is told to stop, and who hears what it says: the seams to the engine."""

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from msgspec import Struct

from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Progress
from tenure.core.outcome import Failure
from tenure.core.retry import AttemptEnd
from tenure.core.span import Span
from tenure.core.trail import LogLine, Note, Usage


class Halt(Enum):
    """Why an attempt is to stop."""

    CANCELLED = auto()
    """Its job was cancelled: it is asked, has its grace, and is killed."""
    LOST = auto()
    """Its lease is gone: it is killed at once, and nobody wants to know how it ended."""
    SHUTDOWN = auto()
    """The worker ends and hands it back: it is killed at once, and counts only if it had reported before."""


class Halting:
    """A request to stop one attempt, which may come before the attempt or never; it only ever gets harder."""

    def __init__(self) -> None:
        self.asked: Halt | None = None
        self._waiting: list[asyncio.Future[None]] | None = None  # few attempts have anybody who waits
        self.deadline: float | None = None
        """The time of the monotonic clock after which nothing of the attempt may live."""
        self._prolonged: Callable[[float], None] | None = None
        self._tell: Callable[[], None] | None = None

    @property
    def is_final(self) -> bool:
        """Whether the attempt is to be killed at once."""
        return self.asked is not None and self.asked is not Halt.CANCELLED

    def prolong(self, deadline: float) -> None:
        """Let the attempt live until this time of the monotonic clock, even if nobody is there to halt it."""
        self.deadline = deadline
        if self._prolonged is not None:
            self._prolonged(deadline)

    def on_prolonged(self, prolonged: Callable[[float], None]) -> None:
        """Be told of the deadline whenever it changes."""
        self._prolonged = prolonged

    def on_asked(self, tell: Callable[[], None] | None) -> None:
        """Be told whenever somebody asks; a task that waits for it would cost each attempt more."""
        self._tell = tell

    def ask(self, halt: Halt) -> None:
        """Ask to stop; losing the lease or shutting down overrules cancelling, and nothing overrules them."""
        if self.asked in {None, Halt.CANCELLED}:
            self.asked = halt
            for waiting in self._waiting or ():
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting = None
            if self._tell is not None:
                self._tell()

    async def wait(self) -> Halt:
        """Wait until anybody has asked."""
        while self.asked is None:
            await self._wait_for_anybody()
        return self.asked

    async def wait_for_the_end(self) -> Halt:
        """Wait until the attempt is to be killed at once."""
        while not self.is_final:
            await self._wait_for_anybody()
        return await self.wait()

    async def _wait_for_anybody(self) -> None:
        asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(asked)
        await asked


class Listener(Protocol):
    """Who hears what an attempt says while it runs; none of it may take long but `spawn`."""

    def log(self, line: LogLine) -> None:
        """A line of output or of `ctx.log`."""

    def progress(self, progress: Progress) -> None:
        """How far it has come."""

    def emit(self, note: Note) -> None:
        """An event of its own, or a hook that failed."""

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Something that it has measured, in the words of `tenure.execution.measuring`."""

    def span(self, span: Span) -> None:
        """A span that it has made, and that is over."""

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Enqueue children; a `TenureError` is passed on to the handler."""


class Unstarted(Struct, frozen=True):
    """The attempt has not begun: there was no process for it, and that is none of its doing."""

    error: Failure


class Interrupted(Struct, frozen=True):
    """The attempt had begun and was killed, by somebody of whom it cannot be known that it was itself."""

    error: Failure


class Ended(NamedTuple):
    """How an attempt ended, None after LOST or SHUTDOWN, and what its processes used."""

    end: AttemptEnd | Unstarted | Interrupted | None
    usage: Usage
