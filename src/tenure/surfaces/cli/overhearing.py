"""Lanes whose attempts are overheard: the store is told how far they are now and then, not at every word."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Unpack
from uuid import UUID

from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Progress
from tenure.core.span import Span
from tenure.core.trail import LogLine, Note
from tenure.engine.lane import Lane, Lanes, Terms
from tenure.execution.assignment import Assignment
from tenure.execution.halting import Ended, Listener


class Overheard:
    """Passes everything on, and tells `hear` of each progress as well, the moment it is said."""

    def __init__(self, lanes: Lanes, hear: Callable[[UUID, Progress], None]) -> None:
        self._lanes = lanes
        self._hear = hear

    async def ready(self) -> None:
        """As the lanes are."""
        await self._lanes.ready()

    def named(self, name: str) -> Lane:
        """A lane."""
        return _Overheard(self._lanes.named(name), self._hear)


class _Overheard:
    def __init__(self, lane: Lane, hear: Callable[[UUID, Progress], None]) -> None:
        self._lane = lane
        self._hear = hear

    async def run(self, assignment: Assignment, **terms: Unpack[Terms]) -> Ended:
        """Run one attempt as the lane does."""
        terms["listener"] = _Ear(terms["listener"], partial(self._hear, assignment.job))
        return await self._lane.run(assignment, **terms)


class _Ear:
    def __init__(self, listener: Listener, hear: Callable[[Progress], None]) -> None:
        self._hear = hear
        self._listener = listener
        self.log: Callable[[LogLine], None] = listener.log
        self.emit: Callable[[Note], None] = listener.emit
        self.measure: Callable[[str, tuple[str, ...], float], None] = listener.measure
        self.span: Callable[[Span], None] = listener.span

    def progress(self, progress: Progress) -> None:
        self._hear(progress)
        self._listener.progress(progress)

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await self._listener.spawn(jobs)
