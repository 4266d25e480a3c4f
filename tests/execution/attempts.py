"""Runs attempts in a lane, with a listener that records what they send."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tenure.core.errors import LeaseLost, TenureError
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine, Note
from tenure.core.values.documents import write
from tenure.core.values.span import Span
from tenure.execution.lanes import Lane
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended, StopRequest
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.assignment import Assignment, ResourceLimits
from tenure.execution.protocol.durable import Answer, Question, Recall, Recalled
from tenure.execution.protocol.environment import ChildEnvironment

ROOT = Path(__file__).parents[2]
JOB = UUID("01890000-0000-7000-8000-000000000001")
BOUND = 60.0
"""Seconds after which a test that waits for something has failed."""


@dataclass
class Recorder:
    """A listener that records what an attempt sent."""

    lines: list[LogLine] = field(default_factory=list)
    progresses: list[Progress] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    measures: list[tuple[str, tuple[str, ...], float]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    spawned: list[NewJob] = field(default_factory=list)
    refusal: TenureError | None = None

    def log(self, line: LogLine) -> None:
        self.lines.append(line)

    def progress(self, progress: Progress) -> None:
        self.progresses.append(progress)

    def emit(self, note: Note) -> None:
        self.notes.append(note)

    def measure(self, what: str, labels: tuple[str, ...], value: float) -> None:
        self.measures.append((what, labels, value))

    def span(self, span: Span) -> None:
        self.spans.append(span)

    async def spawn(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        if self.refusal is not None:
            raise self.refusal
        self.spawned += jobs
        first = len(self.spawned) - len(jobs)
        return [Enqueued(UUID(int=first + n), State.QUEUED, True) for n in range(len(jobs))]

    async def durable(self, question: Question) -> Answer:
        if not isinstance(question, Recall):
            raise LeaseLost(f"nothing answers {question}")
        return Recalled([])

    def texts(self, level: str) -> list[str]:
        return [line.text for line in self.lines if line.level == level]


def lane_of(target: str, **options: Any) -> ProcessLane:
    """A lane that the caller closes, whatever happens."""
    options.setdefault("environment", ChildEnvironment(os.environ))
    options.setdefault("folder", ROOT)
    return ProcessLane(target, **options)


@asynccontextmanager
async def opened(target: str, **options: Any) -> AsyncIterator[ProcessLane]:
    """A lane that has started, and is closed at the end."""
    lane = lane_of(target, **options)
    try:
        await lane.start()
        yield lane
    finally:
        await lane.close()


async def run(
    lane: Lane,
    definition: str,
    params: object = None,
    *,
    limits: ResourceLimits | None = None,
    timeout: float = BOUND,
    grace: float = BOUND,
    stop: StopRequest | None = None,
    recorder: Recorder | None = None,
    **assigned: Any,
) -> Ended:
    """Run one attempt of a handler; generous where the test does not say otherwise."""
    assignment = Assignment(
        job=assigned.pop("job", JOB),
        fence=assigned.pop("fence", 1),
        attempt=assigned.pop("attempt", 1),
        definition=definition,
        version=1,
        params=write(params),
        limits=limits or ResourceLimits(),
        **assigned,
    )
    terms = AttemptTerms(
        timedelta(seconds=timeout), timedelta(seconds=grace), stop or StopRequest(), recorder or Recorder()
    )
    return await lane.run(assignment, terms)


def is_alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def environment(**changed: str) -> Mapping[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", **changed}
