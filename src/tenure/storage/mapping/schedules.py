"""Between schedules and rows, for both stores. What a schedule was asked for is one JSON document.

A reader takes the fields it knows and ignores the rest, so that two versions of Tenure can share a database.
"""

from collections.abc import Iterable, Sequence
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
    KnownSchedule,
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
_FORMAT = 1
"""What a reader must know to read the documents that this version writes."""


class _StoredSchedule(Struct, frozen=True, kw_only=True):
    """What a schedule was asked for, as it is stored.

    A version whose words older ones would misread raises `format`: those then leave the schedule alone.
    """

    format: int = _FORMAT
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


def schedule_from(row: Row) -> KnownSchedule:
    """A row of a schedule, as far as this version can read it."""
    try:
        asked = _asked(row)
    except (msgspec.MsgspecError, InvalidInput, ValueError, OverflowError) as error:
        return _unreadable(row, error)
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


def written_from(row: Row) -> Schedule:
    """A row that this process has just written. Raises StoreUnavailable if it cannot read it."""
    known = schedule_from(row)
    if isinstance(known, UnreadableSchedule):
        raise StoreUnavailable(f"the schedule {known.name.name!r:.140}: {known.problem}")
    return known


def due_from(row: Row, open_jobs: Sequence[UUID]) -> DueSchedule | UnreadableSchedule:
    """A row of `due_schedules`."""
    known = schedule_from(row)
    if isinstance(known, UnreadableSchedule):
        return known
    return DueSchedule(known, row["now_at"], tuple(open_jobs))


class LeftAlone:
    """Schedules that this process has found due and cannot read: it does not look at them again.

    An edit raises the revision, and then it does; one that is made again by the same name is another one.
    """

    def __init__(self) -> None:
        self._seen: dict[ScheduleName, tuple[datetime, int]] = {}

    def add(self, schedule: UnreadableSchedule) -> None:
        """Leave a schedule alone from now on."""
        self._seen[schedule.name] = schedule.created_at, schedule.revision

    def columns(self) -> dict[str, Any]:
        """All of them, as columns."""
        return {
            "alone_namespaces": [name.namespace for name in self._seen],
            "alone_names": [name.name for name in self._seen],
            "alone_made_at": [made_at for made_at, _ in self._seen.values()],
            "alone_revisions": [revision for _, revision in self._seen.values()],
        }

    def entries(self) -> list[tuple[str, str, datetime, int]]:
        """All of them: namespace, name, when it was made, and revision of each."""
        return [(*name, made_at, revision) for name, (made_at, revision) in self._seen.items()]


def _unreadable(row: Row, error: Exception) -> UnreadableSchedule:
    return UnreadableSchedule(
        name=ScheduleName(row["namespace"], row["name"]),
        definition=row["definition"],
        revision=row["revision"],
        source=row["source"],
        creator=row["creator"],
        next_at=row["next_at"],
        last_at=row["last_at"],
        remaining=row["remaining"],
        paused_at=row["paused_at"],
        paused_by=row["paused_by"],
        reason=row["reason"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        problem=f"this version of tenure cannot read it, and leaves it alone ({error!s:.200}): "
        "a newer version may have written it",
    )


def troubled_from(row: Row) -> TroubledSchedule:
    """A row of `troubled_schedules`."""
    return TroubledSchedule(
        name=ScheduleName(row["namespace"], row["name"]),
        definition=row["definition"],
        due_at=row["due_at"],
        failed_at=row["failed_at"],
        problem=row["problem"],
        is_forgotten=bool(row["is_forgotten"]),
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
    state = None if row["state"] is None else State(row["state"])
    return TickOnRecord(tick, state, row["started_at"], row["finished_at"])


def recent_ticks_from(rows: Iterable[Row], limit: int) -> dict[ScheduleName, list[TickOnRecord]]:
    """The rows of `recent_ticks`."""
    found: dict[ScheduleName, list[TickOnRecord]] = {}
    for row in rows:
        ticks = found.setdefault(ScheduleName(row["namespace"], row["schedule"]), [])
        if len(ticks) < limit:
            ticks.append(tick_from(row))
    return found


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
    if stored.format > _FORMAT:
        raise InvalidInput("format", f"is {stored.format}, and this version knows {_FORMAT}")
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
