"""Collects the output of a hook until the hook has ended."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from tenure.core.errors import TenureError
from tenure.core.model.child_keys import CHILDREN
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Claimed, Progress
from tenure.core.model.trail import LogLine, Note, Trail
from tenure.core.signals import Announce, Measured, SpanEnded
from tenure.core.values.span import Span
from tenure.engine.worker.log_batches import log_batches
from tenure.execution.protocol.durable import Answer, Question
from tenure.storage.contract.store import Store

MOST_NOTES = 100
"""How many events one hook may emit: each is a transaction of its own."""


class HookOutput:
    """Listens to one hook. A hook has no lease: it changes no state, and what it enqueues is unfenced."""

    def __init__(self, store: Store, claimed: Claimed, on_signal: Announce) -> None:
        self._store = store
        self._claimed = claimed
        self._on_signal = on_signal
        self._lines: list[LogLine] = []
        self._notes: list[Note] = []
        self._dropped = 0

    def log(self, line: LogLine) -> None:
        """Keep a line, under the lease of the attempt that the hook follows, after that attempt's lines."""
        self._lines.append(line)

    def progress(self, progress: Progress) -> None:
        """Ignore progress: the attempt is over."""

    def emit(self, note: Note) -> None:
        """Keep an event for the job's history, after the step that the hook follows."""
        if len(self._notes) < MOST_NOTES:
            self._notes.append(note)
        else:
            self._dropped += 1

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        """Announce a measurement, counted as the handler's own."""
        self._on_signal(Measured(self._claimed.definition, what, labels, value))

    def span(self, span: Span) -> None:
        """Announce a span, exported as the handler's own."""
        self._on_signal(SpanEnded(self._claimed, span))

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Enqueue children of the hook's job. A hook runs once: it need not find them again."""
        own = self._claimed.lease.job
        return await self._store.enqueue(
            [replace(job, parent=own, scope="" if job.scope == CHILDREN else job.scope) for job in jobs]
        )

    async def durable(self, _question: Question) -> Answer:
        """Refuse: a hook has no lease, and what it would keep belongs to no attempt."""
        raise TenureError("a hook keeps nothing: its job has ended")

    async def save(self) -> None:
        """Write the output to the store; a line in the job's log counts events that were dropped."""
        lease = self._claimed.lease
        for at, note in enumerate(self._notes):
            if not await self._store.annotate(lease, note):
                # The job was claimed again meanwhile, or has as many events as it may.
                self._dropped += len(self._notes) - at
                break
        if self._dropped:
            text = f"{self._dropped:,} events of this hook were dropped"
            self._lines.append(LogLine(len(self._lines) + 1, datetime.now(UTC), "warning", text))
        for batch in log_batches([Trail(lease, tuple(self._lines))]):
            await self._store.add_lines(lease, [line for piece in batch for line in piece.lines])
