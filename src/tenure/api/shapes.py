"""The bodies of requests, and of answers that only the HTTP server gives."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeVar
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api import views
from tenure.api.definition_views import DefinitionItem
from tenure.api.dialects.intent import IntentStatus
from tenure.core.model.states import State
from tenure.core.reports.flow import Flows
from tenure.core.reports.operations import LineStatus, Pause
from tenure.core.values.bounds import HIGHEST_PRIORITY, LARGEST_BATCH, MOST_LIMITS, MOST_TAGS

T = TypeVar("T")
MOMENT = {
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
}
"""Times in JSON Schema: without leap seconds, which no clock here has."""

PLANNED = {
    **MOMENT,
    "pattern": MOMENT["pattern"].replace("^[0-9]{4}", "^(19[7-9][0-9]|2[0-9]{3})", 1),
}
"""Times to plan something for, in JSON Schema: within the years that a store accepts."""

CURSOR = {"pattern": "^[A-Za-z0-9_-]{12,512}$"}
"""Cursors in JSON Schema, as `cursors` writes them."""

MILLIS = {"multipleOf": 0.001}
"""Seconds to the millisecond, in JSON Schema."""

_PRINTABLE = {"pattern": r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$"}
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$")]
Version = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Key = Annotated[str, Meta(min_length=1, max_length=255, extra_json_schema=_PRINTABLE)]
Seconds = Annotated[float, Meta(ge=0, le=3653 * 86_400)]
Timeout = Annotated[float, Meta(ge=1, le=604_800, extra_json_schema=MILLIS)]
Moment = Annotated[str, Meta(extra_json_schema=MOMENT)]
Planned = Annotated[str, Meta(extra_json_schema=PLANNED)]
Cursor = Annotated[str, Meta(extra_json_schema=CURSOR)]


class NewIntent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A job that a client asks for; sent twice with one key it is one job."""

    job_type: Name
    payload: Raw | UnsetType = UNSET
    idempotency_key: Key


class IntentAccepted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The id of the job, and its status."""

    job_id: UUID
    status: IntentStatus


class Intent(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job as its client sees it."""

    job_id: UUID
    job_type: str
    status: IntentStatus
    created_at: datetime
    updated_at: datetime


class NewJobBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A job to create; for what is left out its definition decides."""

    definition_key: Name
    definition_version: Version | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    priority: Annotated[int, Meta(ge=-HIGHEST_PRIORITY, le=HIGHEST_PRIORITY)] | UnsetType = UNSET
    max_attempts: Annotated[int, Meta(ge=1, le=100)] | UnsetType = UNSET
    queue: Name | UnsetType = UNSET
    run_at: Planned | UnsetType = UNSET
    delay_seconds: Seconds | UnsetType = UNSET
    idempotency_key: Key | UnsetType = UNSET
    hold: bool = False
    timeout_seconds: Timeout | UnsetType = UNSET
    tags: Annotated[tuple[Name, ...], Meta(max_length=MOST_TAGS)] = ()
    concurrency_keys: Annotated[
        tuple[Key, ...], Meta(max_length=MOST_LIMITS, extra_json_schema={"uniqueItems": True})
    ] = ()


class Batch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Jobs to create together, all or none."""

    jobs: Annotated[tuple[NewJobBody, ...], Meta(min_length=1, max_length=LARGEST_BATCH)]


class BatchAccepted(Struct, frozen=True):
    """The jobs, in the order of the request."""

    items: Sequence[views.Accepted]


class Reason(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason, which is kept in the job's history."""

    reason: Annotated[str, Meta(max_length=255, extra_json_schema=_PRINTABLE)] | UnsetType = UNSET


class RescheduleBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """When the job is to run: at a time, or so many seconds from now. A time that has passed means now."""

    run_at: Planned | UnsetType = UNSET
    delay_seconds: Seconds | UnsetType = UNSET


class ReplayBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Other params than the first time; `force` replays even while an earlier replay has not ended.

    With one `replayKey` a job is replayed once, however often the request is sent.
    """

    params: Raw | UnsetType = UNSET
    force: bool = False
    replay_key: Key | UnsetType = UNSET


class PauseBody(Reason, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Until when workers claim nothing: a time, or without one until the queue is resumed."""

    until: Planned | UnsetType = UNSET


class Result(Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a job."""

    job_id: UUID
    status: State
    result: Raw


class Attempts(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of a job's attempts, by fence."""

    items: Sequence[views.AttemptItem]
    next_cursor: str | None


class Events(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of a job's history."""

    items: Sequence[views.EventItem]
    next_cursor: str | None


class Logs(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of the log of a job's attempts; more lines may come while it runs."""

    items: Sequence[views.LogItem]
    next_cursor: str | None


class Workers(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of the known workers, the first started first."""

    items: Sequence[views.WorkerItem]
    next_cursor: str | None


class Draining(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that claims no more jobs."""

    worker_id: str
    status: Literal["draining"] = "draining"


class Definitions(Struct, frozen=True):
    """Definitions, by key and version."""

    items: Sequence[DefinitionItem]


class PauseItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A pause: of which queue, definition and version (null: any), since when, until when, by whom, why."""

    queue: str | None
    definition_key: str | None
    definition_version: int | None
    at: datetime
    until: datetime | None
    by: str
    reason: str | None


class LineItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """The jobs of one definition in a queue; `workers` is how many workers run them."""

    definition_key: str
    definition_version: int
    counts: dict[str, int]
    oldest_queued_at: datetime | None
    workers: int
    pause: PauseItem | None


class RatesItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """The throughput of a queue per minute, measured over the last minute or less."""

    enqueued_per_minute: float
    started_per_minute: float
    finished_per_minute: float


class QueueItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A queue: its depth, its oldest job, its throughput, its own pause if it has one, and its lines."""

    name: str
    depth: int
    oldest_queued_at: datetime | None
    pause: PauseItem | None
    rates: RatesItem
    lines: Sequence[LineItem]


class Queues(Struct, frozen=True):
    """Every queue that has or had jobs, that a worker serves or that is paused, by name."""

    items: Sequence[QueueItem]


class QueueState(Struct, frozen=True):
    """Whether a queue is paused."""

    name: str
    paused: bool


class Health(Struct, frozen=True):
    """The health of the process."""

    status: str


def given(value: T | UnsetType) -> T | None:
    """The value of a field; None if it was left out."""
    return None if isinstance(value, UnsetType) else value


def queue_items(lines: Sequence[LineStatus], flows: Flows, pauses: Sequence[Pause]) -> list[QueueItem]:
    """Lines, grouped by their queue, and queues that are paused."""
    paused = {pause.scope.queue: pause for pause in pauses if not pause.scope.definition}
    queues: dict[str, list[LineStatus]] = {
        name: [] for name in sorted({*paused, *(status.line.queue for status in lines)})
    }
    for status in sorted(lines, key=lambda status: status.line):
        queues[status.line.queue].append(status)
    return [
        QueueItem(
            name=name,
            depth=sum(status.counts.get(State.QUEUED, 0) for status in own),
            oldest_queued_at=min((status.oldest for status in own if status.oldest), default=None),
            rates=_rates_item(*flows.a_minute(name)),
            pause=pause_item(paused[name]) if name in paused else None,
            lines=[_line_item(status) for status in own],
        )
        for name, own in queues.items()
    ]


def _rates_item(enqueued: float, started: float, finished: float) -> RatesItem:
    return RatesItem(enqueued_per_minute=enqueued, started_per_minute=started, finished_per_minute=finished)


def pause_item(pause: Pause) -> PauseItem:
    """A pause as it is sent."""
    scope = pause.scope
    return PauseItem(
        queue=scope.queue or None,
        definition_key=scope.definition or None,
        definition_version=scope.version or None,
        at=pause.at,
        until=pause.until,
        by=pause.by,
        reason=pause.reason,
    )


def _line_item(status: LineStatus) -> LineItem:
    return LineItem(
        definition_key=status.line.definition,
        definition_version=status.line.version,
        counts={state.value: count for state, count in status.counts.items() if count},
        oldest_queued_at=status.oldest,
        workers=status.workers,
        pause=None if status.pause is None else pause_item(status.pause),
    )
