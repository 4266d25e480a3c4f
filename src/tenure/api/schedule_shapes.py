"""Schedules over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api.redaction import USUAL, Redaction
from tenure.api.shapes import MILLIS, Name, Planned, Reason, Timeout, Version
from tenure.core.model.states import State
from tenure.core.schedule.cron_days import ClockChange
from tenure.core.schedule.schedule import (
    ComingTick,
    KnownSchedule,
    Tick,
    TickOnRecord,
    UnreadableSchedule,
)
from tenure.core.values.bounds import HIGHEST_PRIORITY, LARGEST_NUMBER, MOST_TAGS

FIELDS = {
    "every": "everySeconds",
    "definition": "definitionKey",
    "version": "definitionVersion",
    "jitter": "jitterSeconds",
    "timeout": "timeoutSeconds",
    "max_attempts": "maxAttempts",
    "time": "startsAt",
}
"""The engine's names of fields, and those of bodies."""

MissedWord = Literal["skip", "one", "all"]
OverlapWord = Literal["allow", "skip", "queue", "cancel"]
Cron = Annotated[str, Meta(min_length=1, max_length=255)]
Timezone = Annotated[str, Meta(min_length=1, max_length=255)]
Interval = Annotated[float, Meta(ge=1, le=3653 * 86_400, extra_json_schema=MILLIS)]
Jitter = Annotated[float, Meta(ge=0, le=86_400, extra_json_schema=MILLIS)]
Remaining = Annotated[int, Meta(ge=1, le=LARGEST_NUMBER)]
Priority = Annotated[int, Meta(ge=-HIGHEST_PRIORITY, le=HIGHEST_PRIORITY)]
Attempts = Annotated[int, Meta(ge=1, le=100)]
Tags = Annotated[tuple[Name, ...], Meta(max_length=MOST_TAGS)]


class ScheduleChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What to change of a schedule; what is left out stays. Null takes away what may be absent."""

    definition_key: Name | UnsetType = UNSET
    definition_version: Version | UnsetType | None = UNSET
    cron: Cron | UnsetType = UNSET
    every_seconds: Interval | UnsetType = UNSET
    timezone: Timezone | UnsetType = UNSET
    jitter_seconds: Jitter | UnsetType = UNSET
    starts_at: Planned | UnsetType = UNSET
    ends_at: Planned | UnsetType | None = UNSET
    remaining: Remaining | UnsetType | None = UNSET
    params: Raw | UnsetType = UNSET
    queue: Name | UnsetType | None = UNSET
    priority: Priority | UnsetType | None = UNSET
    tags: Tags | UnsetType = UNSET
    max_attempts: Attempts | UnsetType | None = UNSET
    timeout_seconds: Timeout | UnsetType | None = UNSET
    missed: MissedWord | UnsetType = UNSET
    overlap: OverlapWord | UnsetType = UNSET


class NewScheduleBody(ScheduleChange, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A schedule to create: its name, its definition, and either `cron` or `everySeconds`."""

    id: Name
    definition_key: Name
    paused: bool = False


class ResumeBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """With `catchUp`, ticks that passed during the pause are treated as the schedule treats missed ones."""

    catch_up: bool = False


class TriggerBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other params than those of the schedule."""

    params: Raw | UnsetType = UNSET


class SchedulePause(Reason, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the schedule is paused."""


class ScheduleItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A schedule. `nextAt` is null if no tick is to come; other nulls mean that the definition decides.

    With a `problem` this server cannot read it, as a newer version may have written it: it fires where it can
    be read, and what is not known here is null or empty.
    """

    id: str
    namespace: str
    definition_key: str
    definition_version: int | None
    cron: str | None
    every_seconds: float | None
    timezone: str | None
    jitter_seconds: float | None
    starts_at: datetime | None
    ends_at: datetime | None
    remaining: int | None
    params: Raw
    queue: str | None
    priority: int | None
    tags: Sequence[str]
    max_attempts: int | None
    timeout_seconds: float | None
    missed: MissedWord | None
    overlap: OverlapWord | None
    paused: bool
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    next_at: datetime | None
    last_at: datetime | None
    revision: int
    source: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    problem: str | None = None


class SchedulePage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of schedules, by name."""

    items: Sequence[ScheduleItem]
    next_cursor: str | None


class ComingItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A tick to come. Its job starts at `startsAt`: later than the tick if the schedule has jitter.

    `clockChange` says that clocks change there: `moved`, they skip its time, and it comes right after the
    gap; `merged`, several times of the day come at this one moment.
    """

    at: datetime
    starts_at: datetime
    clock_change: ClockChange | None = None


class Coming(Struct, frozen=True):
    """The next ticks."""

    items: Sequence[ComingItem]


class TickItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of a tick. Several missed in a row are one: the first, `until` the last, and `count`.

    With `countIsMore` there are so many or more: they are counted to 1,000.
    """

    at: datetime
    outcome: Literal["fired", "by_hand", "missed", "overlapped", "full", "failed"]
    job_id: UUID | None
    job_status: State | None
    count: int
    count_is_more: bool
    until: datetime | None
    problem: str | None
    noted_at: datetime | None


class TickPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of ticks, newest first."""

    items: Sequence[TickItem]
    next_cursor: str | None


class ScheduleGone(Struct, frozen=True):
    """A schedule that was deleted."""

    id: str


def schedule_item(schedule: KnownSchedule, redaction: Redaction = USUAL) -> ScheduleItem:
    """A schedule as it is sent, as far as it can be read; secrets in its params are hidden."""
    if isinstance(schedule, UnreadableSchedule):
        return _unreadable_item(schedule, redaction)
    asked, job, rule = schedule.asked, schedule.asked.job, schedule.asked.recurrence
    return ScheduleItem(
        id=asked.id,
        namespace=asked.namespace,
        definition_key=job.definition,
        definition_version=job.version,
        cron=rule.cron,
        every_seconds=None if rule.every is None else rule.every.total_seconds(),
        timezone=rule.timezone,
        jitter_seconds=asked.jitter.total_seconds(),
        starts_at=rule.starts_at,
        ends_at=rule.ends_at,
        remaining=schedule.remaining,
        params=Raw(redaction.document(job.params)),
        queue=job.queue,
        priority=job.priority,
        tags=job.tags,
        max_attempts=job.max_attempts,
        timeout_seconds=None if job.timeout is None else job.timeout.total_seconds(),
        missed=asked.missed.value,
        overlap=asked.overlap.value,
        paused=schedule.paused_at is not None,
        paused_at=schedule.paused_at,
        paused_by=schedule.paused_by,
        reason=schedule.reason,
        next_at=schedule.next_at,
        last_at=schedule.last_at,
        revision=schedule.revision,
        source=asked.source.value,
        created_by=asked.creator,
        created_at=schedule.created_at,
        updated_at=schedule.updated_at,
    )


def _unreadable_item(known: UnreadableSchedule, redaction: Redaction) -> ScheduleItem:
    return ScheduleItem(
        id=known.name.name,
        namespace=known.name.namespace,
        definition_key=known.definition,
        definition_version=None,
        cron=None,
        every_seconds=None,
        timezone=None,
        jitter_seconds=None,
        starts_at=None,
        ends_at=None,
        remaining=known.remaining,
        params=Raw(b"null"),
        queue=None,
        priority=None,
        tags=(),
        max_attempts=None,
        timeout_seconds=None,
        missed=None,
        overlap=None,
        paused=known.paused_at is not None,
        paused_at=known.paused_at,
        paused_by=known.paused_by,
        reason=known.reason,
        next_at=known.next_at,
        last_at=known.last_at,
        revision=known.revision,
        source=known.source,
        created_by=known.creator,
        created_at=known.created_at,
        updated_at=known.updated_at,
        problem=redaction.text(known.problem),
    )


def coming_item(tick: ComingTick) -> ComingItem:
    """A tick to come as it is sent."""
    return ComingItem(at=tick.at, starts_at=tick.starts_at, clock_change=tick.clock_change)


def tick_item(tick: Tick, state: State | None, redaction: Redaction = USUAL) -> TickItem:
    """A tick as it is sent."""
    return TickItem(
        at=tick.at,
        outcome=tick.outcome.value,
        job_id=tick.job,
        job_status=state,
        count=tick.count,
        count_is_more=tick.is_more,
        until=tick.until,
        problem=tick.problem and redaction.text(tick.problem),
        noted_at=tick.noted_at,
    )


def tick_items(ticks: Sequence[TickOnRecord], redaction: Redaction = USUAL) -> list[TickItem]:
    """Ticks as they are sent."""
    return [tick_item(one.tick, one.state, redaction) for one in ticks]
