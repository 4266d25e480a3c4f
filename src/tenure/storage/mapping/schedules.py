"""Between schedules and rows, for both stores. What a schedule was asked for is one JSON document.

A reader takes the fields it knows and ignores the rest, so that two versions of Tenure can share a database.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.model.policy import OnLost
from tenure.core.model.states import State
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    DueSchedule,
    NewSchedule,
    Overlap,
    Schedule,
    ScheduledJob,
    ScheduleName,
    Source,
    Tick,
    TickOnRecord,
    TickOutcome,
    TroubledSchedule,
    UnreadableSchedule,
)
from tenure.core.values.documents import EMPTY, Document, write
from tenure.storage.mapping.values import Row

_MILLISECOND = timedelta(milliseconds=1)


class _StoredSchedule(Struct, frozen=True, kw_only=True):
    """What a schedule was asked for, as it is stored."""

    definition: str
    version: int | None = None
    params: str = EMPTY
    queue: str | None = None
    priority: int | None = None
    tags: tuple[str, ...] = ()
    max_attempts: int | None = None
    timeout_ms: int | None = None
    on_lost: OnLost | None = None
    cron: str | None = None
    every_ms: int | None = None
    timezone: str = "UTC"
    starts_at: datetime
    ends_at: datetime | None = None
    jitter_ms: int = 0
    remaining: int | None = None
    missed: Missed = Missed.ONE
    overlap: Overlap = Overlap.ALLOW


_decode = msgspec.json.Decoder(_StoredSchedule).decode


def columns(asked: NewSchedule) -> dict[str, Any]:
    """The columns of what was asked for."""
    return {
        "namespace": asked.namespace,
        "name": asked.id,
        "definition": asked.job.definition,
        "spec": _document(asked),
        "source": asked.source.value,
        "creator": asked.creator,
        "remaining": asked.remaining,
    }


def schedule_from(row: Row) -> Schedule:
    """A row of a schedule. Raises StoreUnavailable if it makes no sense."""
    try:
        asked = _asked(row)
    except (msgspec.MsgspecError, InvalidInput, ValueError) as error:
        raise StoreUnavailable(
            f"the schedule {row['name']!r:.140} on record makes no sense: {error}"
        ) from error
    return Schedule(
        asked=asked,
        revision=row["revision"],
        next_at=row["next_at"],
        last_at=row["last_at"],
        remaining=row["remaining"],
        paused_at=row["paused_at"],
        paused_by=row["paused_by"],
        reason=row["reason"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def due_from(row: Row, open_jobs: Sequence[UUID]) -> DueSchedule | UnreadableSchedule:
    """A row of `due_schedules`; one that makes no sense must not keep the others from firing."""
    try:
        return DueSchedule(schedule_from(row), row["now_at"], tuple(open_jobs))
    except StoreUnavailable as error:
        name = ScheduleName(row["namespace"], row["name"])
        return UnreadableSchedule(name, row["revision"], row["next_at"], row["now_at"], str(error))


def troubled_from(row: Row) -> TroubledSchedule:
    """A row of `troubled_schedules`."""
    return TroubledSchedule(
        name=ScheduleName(row["namespace"], row["name"]),
        definition=row["definition"],
        due_at=row["due_at"],
        failed_at=row["failed_at"],
        problem=row["problem"],
    )


def tick_from(row: Row) -> TickOnRecord:
    """A row of `ticks`."""
    tick = Tick(
        at=row["at"],
        outcome=TickOutcome(row["outcome"]),
        job=row["job"],
        count=row["n"],
        until=row["until_at"],
        problem=row["problem"],
        noted_at=row["noted_at"],
    )
    return TickOnRecord(tick, None if row["state"] is None else State(row["state"]))


def _document(asked: NewSchedule) -> Document:
    job, rule = asked.job, asked.recurrence
    return write(
        _StoredSchedule(
            definition=job.definition,
            version=job.version,
            params=job.params,
            queue=job.queue,
            priority=job.priority,
            tags=job.tags,
            max_attempts=job.max_attempts,
            timeout_ms=None if job.timeout is None else job.timeout // _MILLISECOND,
            on_lost=job.on_lost,
            cron=rule.cron,
            every_ms=None if rule.every is None else rule.every // _MILLISECOND,
            timezone=rule.timezone,
            starts_at=rule.starts_at,
            ends_at=rule.ends_at,
            jitter_ms=asked.jitter // _MILLISECOND,
            remaining=asked.remaining,
            missed=asked.missed,
            overlap=asked.overlap,
        )
    )


def _asked(row: Row) -> NewSchedule:
    stored = _decode(row["spec"])
    return NewSchedule(
        id=row["name"],
        namespace=row["namespace"],
        job=ScheduledJob(
            definition=stored.definition,
            version=stored.version,
            params=Document(stored.params),
            queue=stored.queue,
            priority=stored.priority,
            tags=stored.tags,
            max_attempts=stored.max_attempts,
            timeout=_span(stored.timeout_ms),
            on_lost=stored.on_lost,
        ),
        recurrence=Recurrence(
            cron=stored.cron,
            every=_span(stored.every_ms),
            timezone=stored.timezone,
            starts_at=stored.starts_at,
            ends_at=stored.ends_at,
        ),
        jitter=stored.jitter_ms * _MILLISECOND,
        remaining=stored.remaining,
        missed=stored.missed,
        overlap=stored.overlap,
        source=Source(row["source"]),
        creator=row["creator"],
        is_paused=row["paused_at"] is not None,
    )


def _span(millis: int | None) -> timedelta | None:
    return None if millis is None else millis * _MILLISECOND
