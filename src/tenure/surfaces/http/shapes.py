"""The bodies of requests, and of those answers that no other surface has."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, TypeVar
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.core.bounds import HIGHEST_PRIORITY, LARGEST_BATCH, MOST_LIMITS, MOST_TAGS
from tenure.core.flow import Flows
from tenure.core.operations import LineStatus
from tenure.core.states import State
from tenure.surfaces import views
from tenure.surfaces.definition_views import DefinitionItem
from tenure.surfaces.dialects.intent import IntentStatus

T = TypeVar("T")
MOMENT = {
    "format": "date-time",
    "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
}
"""Times in JSON Schema: without the seconds that are put in, which no clock here has."""

PLANNED = {
    **MOMENT,
    "pattern": MOMENT["pattern"].replace("^[0-9]{4}", "^(19[7-9][0-9]|2[0-9]{3})", 1),
}
"""Times that something may be planned for, in JSON Schema: of the years that a store takes."""

CURSOR = {"pattern": "^[A-Za-z0-9_-]{12,512}$"}
"""Places in lists, in JSON Schema, as `cursors` writes them."""

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
    """What a client wants done; the key names the wish, however often it is sent."""

    job_type: Name
    payload: Raw | UnsetType = UNSET
    idempotency_key: Key


class IntentAccepted(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which job it is, and where it stands."""

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
    """A job to be recorded; what is left out is as its definition says."""

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
    """Jobs to be recorded together, all or none."""

    jobs: Annotated[tuple[NewJobBody, ...], Meta(min_length=1, max_length=LARGEST_BATCH)]


class BatchAccepted(Struct, frozen=True):
    """The jobs in the order asked."""

    items: Sequence[views.Accepted]


class Reason(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why; it stands on record."""

    reason: Annotated[str, Meta(max_length=255, extra_json_schema=_PRINTABLE)] | UnsetType = UNSET


class ReplayBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Other params than the first time; `force` even while an earlier replay has not ended.

    Under one `replayKey` a job is replayed once, however often it is asked for.
    """

    params: Raw | UnsetType = UNSET
    force: bool = False
    replay_key: Key | UnsetType = UNSET


class PauseBody(Reason, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Until when nothing is claimed: a time, or without one until it is resumed."""

    until: Planned | UnsetType = UNSET


class Result(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a job came to."""

    job_id: UUID
    status: State
    result: Raw


class Attempts(Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of a job's starts by fence, and where they go on."""

    items: Sequence[views.AttemptItem]
    next_cursor: str | None


class Events(Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of a job's history, and where it goes on."""

    items: Sequence[views.EventItem]
    next_cursor: str | None


class Logs(Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of what a job's attempts wrote, and where it goes on; more may come while it runs."""

    items: Sequence[views.LogItem]
    next_cursor: str | None


class Workers(Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of the workers that are known, those that started first at the top."""

    items: Sequence[views.WorkerItem]
    next_cursor: str | None


class Draining(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that was asked to claim no more."""

    worker_id: str
    status: Literal["draining"] = "draining"


class Definitions(Struct, frozen=True):
    """Definitions, by key and version."""

    items: Sequence[DefinitionItem]


class PauseItem(Struct, frozen=True):
    """Why nothing is claimed, since when and until when."""

    at: datetime
    until: datetime | None
    by: str
    reason: str | None


class LineItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """The jobs of one definition in a queue; `workers` is how many serve them."""

    definition_key: str
    definition_version: int
    counts: dict[str, int]
    oldest_queued_at: datetime | None
    workers: int
    pause: PauseItem | None


class RatesItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """What passes through a queue in a minute, by the last minute or less."""

    enqueued_per_minute: float
    started_per_minute: float
    finished_per_minute: float


class QueueItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A queue: how much stands in it, since when, how much passes through, and the lines it is made of."""

    name: str
    depth: int
    oldest_queued_at: datetime | None
    rates: RatesItem
    lines: Sequence[LineItem]


class Queues(Struct, frozen=True):
    """Every queue that jobs have stood in, by name."""

    items: Sequence[QueueItem]


class QueueState(Struct, frozen=True):
    """Whether workers may claim from a queue."""

    name: str
    paused: bool


class Health(Struct, frozen=True):
    """How the process is."""

    status: str


def given(value: T | UnsetType) -> T | None:
    """A value that was sent; None when it was left out."""
    return None if isinstance(value, UnsetType) else value


def queue_items(lines: Sequence[LineStatus], flows: Flows) -> list[QueueItem]:
    """Lines, by the queue they belong to."""
    queues: dict[str, list[LineStatus]] = {}
    for status in sorted(lines, key=lambda status: status.line):
        queues.setdefault(status.line.queue, []).append(status)
    return [
        QueueItem(
            name=name,
            depth=sum(status.counts.get(State.QUEUED, 0) for status in own),
            oldest_queued_at=min((status.oldest for status in own if status.oldest), default=None),
            rates=_rates_item(*flows.a_minute(name)),
            lines=[_line_item(status) for status in own],
        )
        for name, own in queues.items()
    ]


def _rates_item(enqueued: float, started: float, finished: float) -> RatesItem:
    return RatesItem(enqueued_per_minute=enqueued, started_per_minute=started, finished_per_minute=finished)


def _line_item(status: LineStatus) -> LineItem:
    pause = status.pause
    return LineItem(
        definition_key=status.line.definition,
        definition_version=status.line.version,
        counts={state.value: count for state, count in status.counts.items() if count},
        oldest_queued_at=status.oldest,
        workers=status.workers,
        pause=None if pause is None else PauseItem(pause.at, pause.until, pause.by, pause.reason),
    )
