"""Lanes that report every progress of an attempt at once; the store learns of it only now and then."""

from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.trail import LogLine, Note
from tenure.core.values.span import Span
from tenure.execution.lanes import Lane, LaneSet
from tenure.execution.parent.attempt_terms import AttemptListener, AttemptTerms, Ended
from tenure.execution.protocol.assignment import Assignment


class ProgressLanes:
    """Passes everything on, and calls `on_progress` with each progress of an attempt."""

    def __init__(self, lanes: LaneSet, on_progress: Callable[[UUID, Progress], None]) -> None:
        self._lanes = lanes
        self._on_progress = on_progress

    async def ready(self) -> None:
        """Return when attempts can be started."""
        await self._lanes.ready()

    def named(self, name: str) -> Lane:
        """The lane of this name."""
        return _ProgressLane(self._lanes.named(name), self._on_progress)


class _ProgressLane:
    def __init__(self, lane: Lane, on_progress: Callable[[UUID, Progress], None]) -> None:
        self._lane = lane
        self._on_progress = on_progress

    async def run(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run one attempt as the lane does."""
        listener = _ProgressListener(terms.listener, partial(self._on_progress, assignment.job))
        return await self._lane.run(assignment, replace(terms, listener=listener))


class _ProgressListener:
    def __init__(self, listener: AttemptListener, on_progress: Callable[[Progress], None]) -> None:
        self._on_progress = on_progress
        self._listener = listener
        self.log: Callable[[LogLine], None] = listener.log
        self.emit: Callable[[Note], None] = listener.emit
        self.measure: Callable[[str, tuple[str, ...], float], None] = listener.measure
        self.span: Callable[[Span], None] = listener.span

    def progress(self, progress: Progress) -> None:
        self._on_progress(progress)
        self._listener.progress(progress)

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await self._listener.spawn(jobs)
