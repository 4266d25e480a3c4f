"""An attempt in this worker's hands: until when its lease holds, what it has said, and how to halt it."""

from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

from msgspec.structs import replace

from tenure.core.job import USUAL_NAMESPACE, Enqueued, NewJob
from tenure.core.lease import Claimed, Lease, Progress
from tenure.core.signals import Announce, Measured, SpanEnded
from tenure.core.span import Span
from tenure.core.trail import LogLine, Note, Trail
from tenure.engine.children import Children
from tenure.engine.manner import Hold
from tenure.execution.halting import Halting

Spawn = Callable[[Lease, Sequence[NewJob]], Awaitable[list[Enqueued]]]
"""Enqueues jobs on behalf of an attempt, as long as its lease holds."""


class Running:
    """What the lane tells of an attempt is gathered here, until the store is told."""

    def __init__(self, claimed: Claimed, hold: Hold, spawn: Spawn, announce: Announce) -> None:
        self.claimed = claimed
        self.since = monotonic()
        """When it was taken; once it runs, when it began."""
        self.halting = Halting()
        self.prolong(hold)
        self.returned_for = ""
        """Why it is handed back, if it is."""
        self.has_spoken = False
        """Whether it has said something that nobody has recorded."""
        self.unsaid: Progress | None = None
        """How far it has come, until the store was told."""
        self._spawn = spawn
        self._children = Children(claimed.lease.job)
        self._announce = announce
        self._lines: list[LogLine] = []
        self._notes: list[Note] = []

    @property
    def lease(self) -> Lease:
        """The lease it runs under."""
        return self.claimed.lease

    def prolong(self, hold: Hold) -> None:
        """Its lease was prolonged."""
        self.hold = hold
        self.halting.prolong(hold.kill_at)

    def log(self, line: LogLine) -> None:
        """A line of output."""
        self._lines.append(line)
        self.has_spoken = True

    def progress(self, progress: Progress) -> None:
        """How far it has come; a heartbeat tells."""
        self.unsaid = progress

    def said(self, progress: Progress) -> None:
        """The store knows of this; it may have come further since."""
        if self.unsaid is progress:
            self.unsaid = None

    def emit(self, note: Note) -> None:
        """An event of its own."""
        self._notes.append(note)
        self.has_spoken = True

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Something that it has measured: told at once, and kept nowhere."""
        self._announce(Measured(self.claimed.definition, what, labels, value))

    def span(self, span: Span) -> None:
        """A span of its handler's: told at once, and kept nowhere."""
        self._announce(SpanEnded(self.claimed, span))

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Enqueue jobs as its children, in its own namespace unless they name another one."""
        own = self.claimed.namespace
        if own != USUAL_NAMESPACE:
            jobs = [replace(job, namespace=own) if job.namespace == USUAL_NAMESPACE else job for job in jobs]
        named = self._children.named(jobs)
        try:
            return await self._spawn(self.lease, named)
        except BaseException:
            self._children.take_back(named)
            raise

    def take_trail(self) -> Trail:
        """What it has said since this was last asked."""
        trail = Trail(self.lease, tuple(self._lines), tuple(self._notes))
        self._lines.clear()
        self._notes.clear()
        self.has_spoken = False
        return trail

    def put_back(self, trail: Trail) -> None:
        """What could not be recorded, in front of what has been said since."""
        self._lines[:0] = trail.lines
        self._notes[:0] = trail.notes
        self.has_spoken = True
