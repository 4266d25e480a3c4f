"""A schedule, the job it makes, and its ticks on record."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import InvalidInput
from tenure.core.model.job import USUAL_NAMESPACE, NewJob
from tenure.core.model.limit import SCHEDULE_LIMIT, Limit
from tenure.core.model.policy import OnLost
from tenure.core.model.states import State
from tenure.core.schedule.backlog import MOST_COUNTED, Missed
from tenure.core.schedule.cron_days import ClockChange
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.values.bounds import (
    HIGHEST_PRIORITY,
    LARGEST_NUMBER,
    MOST_TAGS,
    distinct,
    named,
    printable,
    whole,
    whole_millis,
    within,
)
from tenure.core.values.documents import EMPTY, Document

LONGEST_JITTER = timedelta(days=1)


class Overlap(StrEnum):
    """What happens at a tick while a job of an earlier tick has not ended."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE = "queue"
    CANCEL = "cancel"


class Source(StrEnum):
    """Where a schedule comes from: an operator's call, the app's code, or a task that repeats."""

    API = "api"
    CODE = "code"
    TASK = "task"


class TickOutcome(StrEnum):
    """What became of a tick."""

    FIRED = "fired"
    BY_HAND = "by_hand"
    MISSED = "missed"
    OVERLAPPED = "overlapped"
    FULL = "full"
    FAILED = "failed"


class ScheduledJob(Struct, frozen=True, kw_only=True):
    """The job that a schedule makes at each tick; what is None is as the definition says.

    Without a `version` it is the newest one at each tick.
    """

    definition: str
    version: int | None = None
    params: Document = EMPTY
    queue: str | None = None
    priority: int | None = None
    tags: tuple[str, ...] = ()
    max_attempts: int | None = None
    timeout: timedelta | None = None
    on_lost: OnLost | None = None

    def __post_init__(self) -> None:
        named("definition", self.definition)
        if self.version is not None:
            whole("version", self.version, 1, 2**31 - 1)
        if self.queue is not None:
            named("queue", self.queue)
        if self.priority is not None:
            whole("priority", self.priority, -HIGHEST_PRIORITY, HIGHEST_PRIORITY)
        if self.max_attempts is not None:
            whole("maxAttempts", self.max_attempts, 1, 100)
        if self.timeout is not None:
            within("timeout", self.timeout, timedelta(seconds=1), timedelta(days=7))
            whole_millis("timeout", self.timeout)
        distinct("tags", self.tags, MOST_TAGS)
        for tag in self.tags:
            named("tags", tag)


class ScheduleName(NamedTuple):
    """A schedule's name, in its namespace."""

    namespace: str
    name: str


class NewSchedule(Struct, frozen=True, kw_only=True):
    """A schedule as it is asked for. `remaining` bounds how many ticks fire; None means no bound."""

    id: str
    namespace: str = USUAL_NAMESPACE
    job: ScheduledJob
    recurrence: Recurrence
    jitter: timedelta = timedelta()
    remaining: int | None = None
    missed: Missed = Missed.ONE
    overlap: Overlap = Overlap.ALLOW
    source: Source = Source.API
    creator: str | None = None
    is_paused: bool = False

    def __post_init__(self) -> None:
        named("id", self.id)
        named("namespace", self.namespace)
        within("jitter", self.jitter, timedelta(), LONGEST_JITTER)
        whole_millis("jitter", self.jitter)
        if self.remaining is not None:
            whole("remaining", self.remaining, 1, LARGEST_NUMBER)
        if self.creator is not None:
            printable("creator", self.creator, least=1)
        if self.jitter and self.recurrence.every is not None and self.jitter >= self.recurrence.every:
            raise InvalidInput("jitter", "is not shorter than the interval", "give less")

    @property
    def limit(self) -> Limit | None:
        """The limit that lets its jobs run one at a time, if they must."""
        if self.overlap not in {Overlap.QUEUE, Overlap.CANCEL}:
            return None
        return Limit(SCHEDULE_LIMIT, key=self.id)


class Schedule(Struct, frozen=True, kw_only=True):
    """A schedule on record. `next_at` is the tick that it waits for, None when there is none to come.

    `revision` grows with each change of what was asked for; firing does not change it.
    """

    asked: NewSchedule
    revision: int
    next_at: datetime | None
    last_at: datetime | None
    remaining: int | None
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def name(self) -> ScheduleName:
        """Its name, in its namespace."""
        return ScheduleName(self.asked.namespace, self.asked.id)

    @property
    def has_ended(self) -> bool:
        """Whether it is a task's repetition that is over, which nothing brings back."""
        return self.asked.source is Source.TASK and self.next_at is None

    @property
    def is_aborted(self) -> bool:
        """Whether it is a task's repetition that was ended before its time."""
        return self.has_ended and self.paused_at is not None


class DueSchedule(Struct, frozen=True):
    """A schedule whose tick is due, the store's time, and the jobs of earlier ticks that have not ended.

    The jobs are told only if the schedule asks about them: at most 100, the oldest first.
    """

    schedule: Schedule
    now: datetime
    open_jobs: tuple[UUID, ...]


class UnreadableSchedule(Struct, frozen=True, kw_only=True):
    """A schedule that this version cannot read, and leaves to those that can; `problem` says why.

    A newer version has written it, or its row was changed by hand, or this machine lacks its time zone.
    """

    name: ScheduleName
    definition: str
    revision: int
    source: str
    creator: str | None
    next_at: datetime | None
    last_at: datetime | None
    remaining: int | None
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    created_at: datetime
    updated_at: datetime
    problem: str


KnownSchedule = Schedule | UnreadableSchedule
"""A schedule on record, as far as this version can read it."""


class TroubledSchedule(Struct, frozen=True, kw_only=True):
    """A schedule that needs attention: nothing fires it since `due_at`, or its tick at `failed_at` failed.

    With `is_forgotten` it is from code, and no live worker has it in its code any more.
    """

    name: ScheduleName
    definition: str
    due_at: datetime | None = None
    failed_at: datetime | None = None
    problem: str | None = None
    is_forgotten: bool = False


class ComingTick(Struct, frozen=True):
    """A tick to come, and when its job starts: later than the tick if the schedule has jitter.

    `clock_change` says that clocks change there, and what becomes of the tick by that.
    """

    at: datetime
    starts_at: datetime
    clock_change: ClockChange | None = None


class TickPlace(NamedTuple):
    """A place in the list of a schedule's ticks: a tick of its rule and a run by hand may share a moment."""

    at: datetime
    is_by_hand: bool


class Tick(Struct, frozen=True, kw_only=True):
    """A tick on record. Several that were missed in a row are one, with their number and the last of them."""

    at: datetime
    outcome: TickOutcome
    job: UUID | None = None
    count: int = 1
    until: datetime | None = None
    problem: str | None = None
    noted_at: datetime | None = None

    @property
    def is_more(self) -> bool:
        """Whether there may be more than were counted."""
        return self.count >= MOST_COUNTED

    @property
    def place(self) -> TickPlace:
        """Its place in the list of ticks."""
        return TickPlace(self.at, self.outcome is TickOutcome.BY_HAND)


class TickOnRecord(Struct, frozen=True):
    """A tick; the state of its job, if it made one that is still kept, and the times of its last attempt."""

    tick: Tick
    state: State | None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def took(self) -> timedelta | None:
        """How long the last attempt of its job took, if the job has ended by it."""
        if self.started_at is None or self.finished_at is None:
            return None
        return max(self.finished_at - self.started_at, timedelta())

    @property
    def late(self) -> timedelta | None:
        """How much later than due it fired."""
        if self.tick.outcome is not TickOutcome.FIRED or self.tick.noted_at is None:
            return None
        return max(self.tick.noted_at - self.tick.at, timedelta())


class DueTick(Struct, frozen=True, kw_only=True):
    """A tick to be recorded, with the job that it makes, if it makes one."""

    at: datetime
    outcome: TickOutcome
    job: NewJob | None = None
    count: int = 1
    until: datetime | None = None
    problem: str | None = None


class Firing(Struct, frozen=True, kw_only=True):
    """What one schedule does now: record these ticks and wait for another one.

    It counts only if the schedule still has the revision and the tick that were read, and is not paused. With
    `tracks_jobs` later ticks are told which of these jobs have not ended. Where runs are counted, each job
    that is made is one less to come; with the last one the schedule ends.
    """

    namespace: str
    schedule: str
    revision: int
    expected: datetime
    next_at: datetime | None
    ticks: Sequence[DueTick]
    tracks_jobs: bool = False

    @property
    def last_outcome(self) -> str | None:
        """What becomes of the last of its ticks."""
        return self.ticks[-1].outcome.value if self.ticks else None

    @property
    def last_at(self) -> datetime | None:
        """The last of its ticks that fires."""
        return max((tick.at for tick in self.ticks if tick.outcome is TickOutcome.FIRED), default=None)


def with_ids(firing: Firing, make: Callable[[], UUID]) -> Firing:
    """The same firing; each of its jobs has an id."""
    ticks = [
        tick if tick.job is None or tick.job.id else replace(tick, job=replace(tick.job, id=make()))
        for tick in firing.ticks
    ]
    return replace(firing, ticks=ticks)
