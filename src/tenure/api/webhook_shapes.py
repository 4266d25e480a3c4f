"""Webhooks and their deliveries over HTTP."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from tenure.api.redaction import USUAL, Redaction
from tenure.api.shapes import Name, Planned, Reason
from tenure.core.reports.reading import EVENT_TYPES
from tenure.core.webhooks.delivery import Delivery, DeliveryState
from tenure.core.webhooks.webhook import (
    GROUPS,
    LONGEST_TIMEOUT,
    MOST_EVENTS,
    MOST_NAMES,
    MOST_TRIES,
    KnownWebhook,
    NewWebhook,
    UnreadableWebhook,
    WebhookFigures,
)

FIELDS = {
    "timeout": "timeoutSeconds",
    "with_params": "withParams",
    "with_result": "withResult",
    "time": "since",
}
"""The engine's names of fields, and those of bodies."""

IN_CLEAR = (
    "the secret is stored in clear, and whoever reads the database reads it: "
    "set TENURE_WEBHOOK_KEY for servers and workers, then rotate it"
)
"""What is said with a secret that is stored."""

_EVENT = {
    "anyOf": [{"enum": [*GROUPS, *EVENT_TYPES]}, {"pattern": "^custom:[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$"}]
}
_DISTINCT = {"uniqueItems": True}

Url = Annotated[str, Meta(min_length=1, max_length=2048, extra_json_schema={"format": "uri"})]
EventName = Annotated[str, Meta(extra_json_schema=_EVENT)]
Events = Annotated[
    tuple[EventName, ...], Meta(min_length=1, max_length=MOST_EVENTS, extra_json_schema=_DISTINCT)
]
Names = Annotated[tuple[Name, ...], Meta(max_length=MOST_NAMES, extra_json_schema=_DISTINCT)]
Tries = Annotated[int, Meta(ge=1, le=MOST_TRIES)]
Patience = Annotated[float, Meta(ge=1, le=LONGEST_TIMEOUT.total_seconds())]
Standing = Literal["delivering", "failing", "paused", "unreadable"]


class WebhookChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What to change of a webhook; what is left out stays. It holds for events that come from then on.

    `events` are types of events, or `onStart`, `onSuccess`, `onFail` and `onEnd`. Empty `definitions`,
    `queues` and `tags` let all through; of several names any one matches.
    """

    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    definitions: Names | UnsetType = UNSET
    queues: Names | UnsetType = UNSET
    tags: Names | UnsetType = UNSET
    with_params: bool | UnsetType = UNSET
    with_result: bool | UnsetType = UNSET
    tries: Tries | UnsetType = UNSET
    timeout_seconds: Patience | UnsetType = UNSET


class NewWebhookBody(WebhookChange, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A webhook to create: send these events to this URL.

    It gets events of its namespace alone: that of the key, or the one that is named, or else of all. With
    `since` it also gets events from then on, as far as they are still kept. One that is created `paused` gets
    none until it is resumed.
    """

    url: Url
    events: Events
    namespace: Name | UnsetType = UNSET
    since: Planned | UnsetType = UNSET
    paused: bool = False


class WebhookPause(Reason, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the webhook is paused."""


class CatchUpBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """With `catchUp`, events that came during the pause are sent, as far as they are still kept."""

    catch_up: bool = False


class SinceBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From when on events are sent again."""

    since: Planned


class WebhookItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A webhook. It is `failing` from a failed try on, until one succeeds.

    Nothing is tried before `closedUntil`. Of its deliveries, `waiting` are to be tried, `delivered` are those
    of the last day, and `dead` were given up. One that this version cannot read has a `problem`, and not what
    it asks for.
    """

    id: UUID
    url: str | None
    events: Sequence[str]
    namespace: str | None
    definitions: Sequence[str]
    queues: Sequence[str]
    tags: Sequence[str]
    with_params: bool
    with_result: bool
    tries: int | None
    timeout_seconds: float | None
    state: Standing
    paused_at: datetime | None
    paused_by: str | None
    reason: str | None
    failing_since: datetime | None
    failures: int
    closed_until: datetime | None
    delivered_at: datetime | None
    waiting: int
    oldest_waiting_at: datetime | None
    delivered: int
    dead: int
    revision: int
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    problem: str | None = None


class MadeWebhook(WebhookItem, frozen=True, kw_only=True, rename="camel"):
    """A webhook with its new `secret`, which is not shown again. `note` says what to know about it."""

    secret: str
    note: str | None


class WebhookPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of webhooks, by id."""

    items: Sequence[WebhookItem]
    next_cursor: str | None


class WebhookGone(Struct, frozen=True):
    """A webhook that was deleted."""

    id: UUID


class DeliveryItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event on its way to a webhook. `message` is its id at the receiver, the same in all tries.

    `status` is that of the last answer; where none came, `problem` says why. A test has no job.
    """

    message: str
    type: str
    at: datetime
    job_id: UUID | None
    n: int
    state: DeliveryState
    tries: int
    status: int | None
    problem: str | None
    took_seconds: float | None
    noted_at: datetime
    tried_at: datetime | None
    next_at: datetime | None


class DeliveryPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of deliveries, those noted last first."""

    items: Sequence[DeliveryItem]
    next_cursor: str | None


def standing_of(webhook: KnownWebhook) -> Standing:
    """Whether a webhook delivers, fails, is paused, or is left to another version."""
    if webhook.paused_at is not None:
        return "paused"
    if isinstance(webhook, UnreadableWebhook):
        return "unreadable"
    return "delivering" if webhook.failing_since is None else "failing"


def webhook_item(webhook: KnownWebhook, figures: WebhookFigures, redaction: Redaction = USUAL) -> WebhookItem:
    """A webhook as it is sent, as far as it can be read; secrets in its URL are hidden."""
    if isinstance(webhook, UnreadableWebhook):
        asked, created_by, problem = _NOTHING, webhook.creator, redaction.text(webhook.problem)
    else:
        asked, created_by, problem = _asked(webhook.asked, redaction), webhook.asked.creator, None
    return WebhookItem(
        id=webhook.id,
        namespace=webhook.namespace,
        state=standing_of(webhook),
        paused_at=webhook.paused_at,
        paused_by=webhook.paused_by,
        reason=webhook.reason,
        failing_since=webhook.failing_since,
        failures=webhook.failures,
        closed_until=webhook.closed_until,
        delivered_at=webhook.delivered_at,
        waiting=figures.waiting,
        oldest_waiting_at=figures.oldest_waiting,
        delivered=figures.delivered,
        dead=figures.dead,
        revision=webhook.revision,
        created_by=created_by,
        created_at=webhook.created_at,
        updated_at=webhook.updated_at,
        problem=problem,
        **asked,
    )


_NOTHING: dict[str, Any] = {
    "url": None,
    "events": (),
    "definitions": (),
    "queues": (),
    "tags": (),
    "with_params": False,
    "with_result": False,
    "tries": None,
    "timeout_seconds": None,
}


def _asked(asked: NewWebhook, redaction: Redaction) -> dict[str, Any]:
    return {
        "url": redaction.text(asked.url),
        "events": asked.events,
        "definitions": asked.definitions,
        "queues": asked.queues,
        "tags": asked.tags,
        "with_params": asked.with_params,
        "with_result": asked.with_result,
        "tries": asked.tries,
        "timeout_seconds": asked.timeout.total_seconds(),
    }


def made_webhook(item: WebhookItem, secret: str, *, is_stored: bool) -> MadeWebhook:
    """A webhook with the secret that was just made for it."""
    return MadeWebhook(**structs.asdict(item), secret=secret, note=IN_CLEAR if is_stored else None)


def delivery_item(delivery: Delivery, redaction: Redaction = USUAL) -> DeliveryItem:
    """A delivery as it is sent."""
    return DeliveryItem(
        message=delivery.message,
        type=delivery.type,
        at=delivery.at,
        job_id=delivery.job,
        n=delivery.n,
        state=delivery.state,
        tries=delivery.tries,
        status=delivery.status,
        problem=delivery.problem and redaction.text(delivery.problem),
        took_seconds=None if delivery.took is None else delivery.took.total_seconds(),
        noted_at=delivery.noted_at,
        tried_at=delivery.tried_at,
        next_at=delivery.next_at,
    )
