"""Lanes that also report lines and progress of attempts at once; the store learns of them a little later."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.trail import LogLine, Note
from tenure.core.values.span import Span
from tenure.execution.lanes import Lane, LaneSet
from tenure.execution.parent.attempt_terms import AttemptListener, AttemptTerms, Ended
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.durable import Answer, Question

OnLine = Callable[[Assignment, LogLine], None]
OnProgress = Callable[[Assignment, Progress], None]


class ObservedLanes:
    """Passes everything on, and calls `on_line` and `on_progress` with what attempts send."""

    def __init__(
        self, lanes: LaneSet, *, on_line: OnLine | None = None, on_progress: OnProgress | None = None
    ) -> None:
        self._lanes = lanes
        self._on_line = on_line
        self._on_progress = on_progress

    async def ready(self) -> None:
        """Return when attempts can be started."""
        await self._lanes.ready()

    def named(self, name: str) -> Lane:
        """The lane of this name."""
        return _ObservedLane(self._lanes.named(name), self._on_line, self._on_progress)


class _ObservedLane:
    def __init__(self, lane: Lane, on_line: OnLine | None, on_progress: OnProgress | None) -> None:
        self._lane = lane
        self._on_line = on_line
        self._on_progress = on_progress

    async def run(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run one attempt as the lane does."""
        listener = _ObservedListener(terms.listener, assignment, self._on_line, self._on_progress)
        return await self._lane.run(assignment, replace(terms, listener=listener))


class _ObservedListener:
    def __init__(
        self,
        listener: AttemptListener,
        assignment: Assignment,
        on_line: OnLine | None,
        on_progress: OnProgress | None,
    ) -> None:
        self._listener = listener
        self._assignment = assignment
        self._on_line = on_line
        self._on_progress = on_progress
        self.emit: Callable[[Note], None] = listener.emit
        self.measure: Callable[[str, tuple[str, ...], float], None] = listener.measure
        self.span: Callable[[Span], None] = listener.span

    def log(self, line: LogLine) -> None:
        if self._on_line is not None:
            self._on_line(self._assignment, line)
        self._listener.log(line)

    def progress(self, progress: Progress) -> None:
        if self._on_progress is not None:
            self._on_progress(self._assignment, progress)
        self._listener.progress(progress)

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await self._listener.spawn(jobs)

    async def durable(self, question: Question) -> Answer:
        return await self._listener.durable(question)
