"""What a hook says after its job's attempt is over, gathered until the hook has ended."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from tenure.core.children import CHILDREN
from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Claimed, Progress
from tenure.core.signals import Announce, Measured, SpanEnded
from tenure.core.span import Span
from tenure.core.trail import LogLine, Note, Trail
from tenure.engine.portions import portions
from tenure.storage.contract import Store

MOST_NOTES = 100
"""How many events one hook may emit: each is a transaction of its own."""


class Aftermath:
    """Hears a hook. No lease stands behind it: what it says moves nothing, what it enqueues is not fenced."""

    def __init__(self, store: Store, claimed: Claimed, announce: Announce) -> None:
        self._store = store
        self._claimed = claimed
        self._announce = announce
        self._lines: list[LogLine] = []
        self._notes: list[Note] = []
        self._dropped = 0

    def log(self, line: LogLine) -> None:
        """Kept under the lease of the attempt that the hook speaks of, behind its own lines."""
        self._lines.append(line)

    def progress(self, progress: Progress) -> None:
        """Not kept: what a job was doing is past."""

    def emit(self, note: Note) -> None:
        """Kept in the job's history, behind the step that the hook speaks of."""
        if len(self._notes) < MOST_NOTES:
            self._notes.append(note)
        else:
            self._dropped += 1

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Counted as the handler's own."""
        self._announce(Measured(self._claimed.definition, what, labels, value))

    def span(self, span: Span) -> None:
        """Told as the handler's own."""
        self._announce(SpanEnded(self._claimed, span))

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Enqueue jobs as children of the one that is over. A hook runs once: it need not find them again."""
        own = self._claimed.lease.job
        return await self._store.enqueue(
            [replace(job, parent=own, scope="" if job.scope == CHILDREN else job.scope) for job in jobs]
        )

    async def keep(self) -> None:
        """Write down what it has said; of what is not written, a line in the job's log tells."""
        lease = self._claimed.lease
        for at, note in enumerate(self._notes):
            if not await self._store.annotate(lease, note):
                # The job was claimed again meanwhile, or has all the events that it may have.
                self._dropped += len(self._notes) - at
                break
        if self._dropped:
            text = f"{self._dropped:,} events of this hook were dropped"
            self._lines.append(LogLine(len(self._lines) + 1, datetime.now(UTC), "warning", text))
        for portion in portions([Trail(lease, tuple(self._lines))]):
            await self._store.add_lines(lease, [line for piece in portion for line in piece.lines])
