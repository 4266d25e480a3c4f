"""Evidence sorted for reading: all that is known of a job in one place, one clock in terms of the other."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from uuid import UUID

from chaos.evidence import Clocks, Evidence, Outage, Sighting, Stay
from chaos.kept_progress import JobProgress
from chaos.ledger import Entry
from chaos.schedules.lives import ScheduleLife, schedule_lives
from chaos.webhooks.lives import HookLife, hooks_in
from tenure.core.model import trail
from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Line
from tenure.core.model.outcome import Attempt
from tenure.core.schedule.schedule import ScheduleName

Finding = tuple[UUID | None, str]
"""Something broken: by which job (None: by the run as a whole), and how that shows."""

CLOCK, REAPER, DOCTOR = "clock", "reaper", "doctor"
TAKERS = frozenset({REAPER, DOCTOR})
"""The actors that take a job from its owner: the lease ran out, or its row is gone."""


@dataclass(slots=True)
class Life:
    """What is known of one job. `job` is None when only traces are left of it."""

    id: UUID
    job: Job | None = None
    events: list[Event] = field(default_factory=list)
    steps: list[Event] = field(default_factory=list)
    """The events that are no notes."""
    attempts: dict[int, Attempt] = field(default_factory=dict)
    """By fence."""
    entries: list[Entry] = field(default_factory=list)
    sightings: list[Sighting] = field(default_factory=list)

    def claims(self) -> Iterator[tuple[Event, Event | None]]:
        """Each claim, and the step by which the job left its owner; None while it is owned."""
        claim: Event | None = None
        for step in self.steps:
            if claim is not None and not step.target.is_owned:
                yield claim, step
                claim = None
            elif step.type == "started":
                if claim is not None:
                    yield claim, None
                claim = step
        if claim is not None:
            yield claim, None


class Timeline:
    """Translates CLOCK_MONOTONIC into the store's time, as exactly as the readings allow."""

    def __init__(self, clocks: Iterable[Clocks]) -> None:
        self._read = sorted(clocks, key=lambda clocks: clocks.before)
        self._at = [clocks.before for clocks in self._read]
        self._least = [clocks.store.timestamp() - clocks.after for clocks in self._read]
        self._most = [clocks.store.timestamp() - clocks.before for clocks in self._read]

    def __bool__(self) -> bool:
        """Whether anything can be translated at all."""
        return bool(self._read)

    def earliest(self, at: float) -> datetime:
        """The store's time at a moment, or a time before it."""
        return _moment(at + min(self._around(self._least, at)))

    def latest(self, at: float) -> datetime:
        """The store's time at a moment, or a time after it."""
        return _moment(at + max(self._around(self._most, at)))

    def _around(self, offsets: Sequence[float], at: float) -> Sequence[float]:
        behind = bisect_right(self._at, at)
        return offsets[max(behind - 1, 0) : behind + 1]


class Casebook:
    """The evidence of a run, by job."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.terms = evidence.terms
        self.time = Timeline(evidence.clocks)
        self.jobs = {job.id: job for job in evidence.jobs}
        self.lives: dict[UUID, Life] = {}
        for job in evidence.jobs:
            self._life(job.id).job = job
        for event in evidence.events:
            life = self._life(event.job)
            life.events.append(event)
            if not is_note(event):
                life.steps.append(event)
        for attempt in evidence.attempts:
            self._life(attempt.job).attempts[attempt.fence] = attempt
        for entry in evidence.ledger:
            self._life(entry.job).entries.append(entry)
        for sighting in evidence.sightings:
            self._life(sighting.job.id).sightings.append(sighting)

    def known(self) -> Iterator[tuple[Job, Life]]:
        """Every job that is there, with its life."""
        for life in self.lives.values():
            if life.job is not None:
                yield life.job, life

    def is_served(self, job: Job) -> bool:
        """Whether a worker served the job's line, as far as that was said."""
        served = self.terms.served
        return not served or Line(job.queue, job.definition, job.version) in served

    @cached_property
    def stays(self) -> dict[str, list[Stay]]:
        """The processes by the worker's id."""
        stays = defaultdict(list)
        for stay in self.evidence.stays:
            stays[stay.worker].append(stay)
        return dict(stays)

    @cached_property
    def progress(self) -> dict[UUID, JobProgress]:
        """What jobs have kept of their progress; those that have kept nothing are left out."""
        return {one.job: one for one in self.evidence.progress}

    @cached_property
    def deeds(self) -> dict[tuple[UUID, str], list[int]]:
        """By job and step, the fences under which it ran."""
        found = defaultdict(list)
        for deed in self.evidence.deeds:
            found[deed.job, deed.step].append(deed.fence)
        return dict(found)

    @cached_property
    def schedules(self) -> dict[ScheduleName, ScheduleLife]:
        """What is known of schedules."""
        return schedule_lives(self.evidence)

    @cached_property
    def hooks(self) -> dict[UUID, HookLife]:
        """What is known of webhooks."""
        return hooks_in(self.evidence)

    def outages_between(self, begin: datetime, end: datetime) -> list[Outage]:
        """The outages that may have touched a span of the store's time."""
        return [
            outage
            for outage in self.evidence.outages
            if self.time
            and self.time.latest(outage.ended) >= begin
            and self.time.earliest(outage.began) <= end
        ]

    def is_held_up(self, stay: Stay, begin: datetime, end: datetime) -> bool:
        """Whether the run may have kept a worker from its work in a span of the store's time."""
        return any(
            self.time.earliest(began) <= end and self.time.latest(ended) >= begin
            for began, ended in stay.held_up
        )

    def starved(self, stay: Stay, begin: datetime, end: datetime) -> timedelta:
        """For how long the machine had no time for a worker in a span of the store's time."""
        waits = (
            min(self.time.latest(ended), end) - max(self.time.earliest(began), begin)
            for began, ended in stay.starved
        )
        return sum((wait for wait in waits if wait > timedelta(0)), timedelta(0))

    def _life(self, job: UUID) -> Life:
        life = self.lives.get(job)
        if life is None:
            life = self.lives[job] = Life(job)
        return life


def is_note(event: Event) -> bool:
    """Whether an event is no step."""
    return trail.is_note(event.type)


def in_seconds(span: timedelta) -> str:
    """A span of time in words."""
    return f"{span.total_seconds():.3f} s"


def _moment(timestamp: float) -> datetime:
    return datetime.fromtimestamp(timestamp, UTC)
