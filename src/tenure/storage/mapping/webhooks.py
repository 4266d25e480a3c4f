"""Between webhooks and rows, for both stores. What a webhook was asked for is one JSON document.

A reader takes the fields it knows and ignores the rest, so that two versions of Tenure can share a database.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.reports.reading import Position
from tenure.core.values.bounds import printable
from tenure.core.values.text import storable
from tenure.core.webhooks.webhook import (
    MOST_WAITING,
    KnownWebhook,
    NewWebhook,
    Secret,
    UnreadableWebhook,
    Webhook,
    WebhookFigures,
)
from tenure.storage.mapping.values import Row
from tenure.storage.mapping.webhook_cursors import position_in

CROWDED = f"more than {MOST_WAITING:,} deliveries are waiting"

_MILLISECOND = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)
_FORMAT = 1
"""What a reader must know to read the documents that this version writes."""


class _StoredWebhook(Struct, frozen=True, kw_only=True):
    """What a webhook was asked for, as it is stored.

    A version whose words older ones would misread, such as another filter, raises `format`: those then leave
    the webhook alone.
    """

    format: int = _FORMAT
    url: str
    events: tuple[str, ...]
    definitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    with_params: bool = False
    with_result: bool = False
    tries: int
    timeout_ms: int


_SAME = tuple(name for name in _StoredWebhook.__struct_fields__ if name not in {"format", "timeout_ms"})
_decode = msgspec.json.Decoder(_StoredWebhook).decode


def columns(asked: NewWebhook) -> dict[str, Any]:
    """The columns of what was asked for."""
    stored = _StoredWebhook(
        **{name: getattr(asked, name) for name in _SAME}, timeout_ms=asked.timeout // _MILLISECOND
    )
    return {
        "namespace": asked.namespace,
        "creator": asked.creator,
        "spec": storable(msgspec.json.encode(stored).decode()),
    }


def webhook_from(row: Row) -> KnownWebhook:
    """A row of a webhook, as far as this version can read it."""
    try:
        return _readable(row)
    except (msgspec.MsgspecError, InvalidInput, ValueError, OverflowError) as error:
        return _unreadable(row, error)


def written_from(row: Row) -> Webhook:
    """A row that this process has just written. Raises StoreUnavailable if it cannot read it."""
    known = webhook_from(row)
    if isinstance(known, UnreadableWebhook):
        raise StoreUnavailable(f"the webhook {known.id}: {known.problem}")
    return known


def first_webhook(found: Sequence[Row]) -> KnownWebhook | None:
    """The webhook of the only row, if there is one."""
    return webhook_from(found[0]) if found else None


def first_written(found: Sequence[Row]) -> Webhook | None:
    """The same of a row that this process has just written."""
    return written_from(found[0]) if found else None


class LeftWebhooks:
    """Webhooks that this process cannot read: it tries none of their deliveries, nor catches up for them.

    They are known by what is written of them: as soon as that is changed, they are looked at again.
    """

    def __init__(self) -> None:
        self._specs: dict[UUID, str] = {}

    def note(self, found: Iterable[Row]) -> list[Webhook]:
        """Remember those of these rows that cannot be read; returns the others."""
        readable = []
        for row in found:
            known = webhook_from(row)
            if isinstance(known, Webhook):
                readable.append(known)
            else:
                self._specs[known.id] = row["spec"]
        return readable

    def entries(self) -> list[tuple[UUID, str]]:
        """All of them, each with what is written of it."""
        return list(self._specs.items())

    def columns(self) -> dict[str, Any]:
        """All of them, as columns."""
        entries = self.entries()
        return {
            "left_webhooks": [webhook for webhook, _ in entries],
            "left_specs": [spec for _, spec in entries],
        }


def _readable(row: Row) -> Webhook:
    stored = _decode(row["spec"])
    if stored.format > _FORMAT:
        raise InvalidInput("format", f"is {stored.format}, and this version knows {_FORMAT}")
    return Webhook(
        asked=NewWebhook(
            id=row["id"],
            namespace=row["namespace"],
            creator=row["creator"],
            timeout=stored.timeout_ms * _MILLISECOND,
            **{name: getattr(stored, name) for name in _SAME},
        ),
        revision=row["revision"],
        rotation=row["rotation"],
        after=Position.read(row["begins_behind"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        paused_at=row["paused_at"],
        paused_by=row["paused_by"],
        reason=row["reason"],
        paused_behind=position_in(row["paused_behind"]),
        failing_since=row["failing_at"],
        failures=row["failures"],
        closed_until=row["open_at"],
        delivered_at=row["delivered_at"],
    )


def _unreadable(row: Row, error: Exception) -> UnreadableWebhook:
    try:
        after = Position.read(row["begins_behind"])
    except InvalidInput:
        after = None
    return UnreadableWebhook(
        id=row["id"],
        after=after,
        namespace=row["namespace"],
        creator=row["creator"],
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        paused_at=row["paused_at"],
        paused_by=row["paused_by"],
        reason=row["reason"],
        failing_since=row["failing_at"],
        failures=row["failures"],
        closed_until=row["open_at"],
        delivered_at=row["delivered_at"],
        problem=f"this version of tenure cannot read it, and leaves it alone ({error!s:.200}): "
        "a newer version may have written it",
    )


def secret_from(row: Row) -> Secret:
    """A row of a secret."""
    return Secret(row["rotation"], row["text"])


def taken(webhook_id: UUID) -> InvalidInput:
    """What is raised where a new webhook has the id of another."""
    return InvalidInput("id", f"is {webhook_id}, which a webhook has", "give another one")


def check_secret(secret: str | None) -> str | None:
    """Refuse a secret that cannot be stored."""
    if secret is not None:
        printable("secret", secret, least=1)
    return secret


def figures_from(found: Iterable[Row]) -> dict[UUID, WebhookFigures]:
    """The rows of `webhook_figures`."""
    return {
        row["webhook"]: WebhookFigures(
            waiting=row["waiting"],
            oldest_waiting=row["oldest_at"],
            delivered=row["delivered"],
            dead=row["dead"],
        )
        for row in found
    }


AS_MANY = 10_000
"""Deliveries that one statement gives up or removes."""

MOST_PORTIONS = 20
"""So many portions of a kind are removed in one round of upkeep."""

KEPT = {"delivered": timedelta(days=7), "dead": timedelta(days=30)}
"""How long deliveries are kept that have ended, by state."""

MOST_COUNTED = 100_000
"""Deliveries that have ended are counted so far."""


class Effect(NamedTuple):
    """What tries did to their webhook: whether one was delivered, and how many failed."""

    delivered: bool
    failed: int
    closes_for: timedelta | None
    pauses: str | None


def effects_of(
    settled: Iterable[tuple[UUID, str]], tries: Mapping[tuple[UUID, str], Any]
) -> dict[UUID, Effect]:
    """What those tries that counted did to their webhooks."""
    effects: dict[UUID, Effect] = {}
    for key in settled:
        one = tries[key]
        before = effects.get(one.webhook, Effect(delivered=False, failed=0, closes_for=None, pauses=None))
        was_delivered = one.state == "delivered"
        closes = [span for span in (before.closes_for, one.closes_for) if span is not None]
        effects[one.webhook] = Effect(
            before.delivered or was_delivered,
            before.failed + (not was_delivered),
            max(closes, default=None),
            before.pauses or one.pauses,
        )
    return effects


def micros(span: timedelta) -> int:
    """A length of time, as a column."""
    return span // _MICROSECOND


def in_turns(found: Iterable[Sequence[Row]], limit: int) -> list[Row]:
    """Rows of several webhooks, those that are first of theirs first."""
    placed = [
        (place, row["next_at"], row["message"], row) for rows in found for place, row in enumerate(rows)
    ]
    return [row for *_, row in sorted(placed, key=lambda one: one[:3])[:limit]]
