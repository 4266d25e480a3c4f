"""Between webhooks and rows, for both stores. What a webhook was asked for is one JSON document.

A reader takes the fields it knows and ignores the rest, so that two versions of Tenure can share a database.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.model.states import STEPS
from tenure.core.reports.reading import Position
from tenure.core.values.bounds import printable
from tenure.core.values.text import storable
from tenure.core.webhooks.webhook import MOST_WAITING, NewWebhook, Secret, Webhook, WebhookFigures
from tenure.storage.mapping.values import Row

MAIN = "webhooks"
"""The cursor of all webhooks."""

BIRTHS = frozenset(step.event for step in STEPS if step.source is None)
"""The types that the creation of a job can have."""

CROWDED = f"more than {MOST_WAITING:,} deliveries are waiting"

_MILLISECOND = timedelta(milliseconds=1)
_MICROSECOND = timedelta(microseconds=1)


class _StoredWebhook(Struct, frozen=True, kw_only=True):
    """What a webhook was asked for, as it is stored."""

    url: str
    events: tuple[str, ...]
    definitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    with_params: bool = False
    with_result: bool = False
    tries: int
    timeout_ms: int


_SAME = tuple(name for name in _StoredWebhook.__struct_fields__ if name != "timeout_ms")
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


def webhook_from(row: Row) -> Webhook:
    """A row of a webhook. Raises StoreUnavailable if this version cannot read it."""
    try:
        stored = _decode(row["spec"])
        asked = NewWebhook(
            id=row["id"],
            namespace=row["namespace"],
            creator=row["creator"],
            timeout=stored.timeout_ms * _MILLISECOND,
            **{name: getattr(stored, name) for name in _SAME},
        )
    except (msgspec.MsgspecError, InvalidInput, ValueError, OverflowError) as error:
        raise StoreUnavailable(
            f"this version of tenure cannot read the webhook {row['id']} ({error!s:.200}): "
            "a newer version may have written it"
        ) from error
    return Webhook(
        asked=asked,
        revision=row["revision"],
        rotation=row["rotation"],
        after=Position.read(row["begins_behind"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        paused_at=row["paused_at"],
        paused_by=row["paused_by"],
        reason=row["reason"],
        paused_behind=_position(row["paused_behind"]),
        failing_since=row["failing_at"],
        failures=row["failures"],
        closed_until=row["open_at"],
        delivered_at=row["delivered_at"],
    )


def first_webhook(found: Sequence[Row]) -> Webhook | None:
    """The webhook of the only row, if there is one."""
    return webhook_from(found[0]) if found else None


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


def new_generation() -> int:
    """Where the count of changes begins: not where it did for a cursor of that name before."""
    return secrets.randbits(40)


MARGIN = timedelta(hours=1)
"""How long before a moment one begins to look for events that happened after it."""

AS_MANY = 10_000
"""Deliveries that one statement gives up or removes."""

MOST_PORTIONS = 20
"""So many portions of a kind are removed in one round of upkeep."""

KEPT = {"delivered": timedelta(days=7), "dead": timedelta(days=30)}
"""How long deliveries are kept that have ended, by state."""

MOST_COUNTED = 100_000
"""Deliveries that have ended are counted so far."""


class CatchUp(NamedTuple):
    """What a webhook is told besides: events behind `start`, up to `until`, that were not before `since`."""

    start: Position
    until: Position
    since: datetime | None = None
    again: bool = False


class Cursors(NamedTuple):
    """The cursors that a change of a webhook has locked: that of all, and its own, if it has one."""

    main: Row | None
    own: Row | None

    @property
    def reached(self) -> Position:
        """Up to where events were fanned out."""
        return position_of(self.main) if self.main else Position(0, UUID(int=0), 0)


def cursors_from(found: Iterable[Row]) -> Cursors:
    """The rows of `webhook_cursors.stir`."""
    by_kind = {row["webhook"] is None: row for row in found}
    return Cursors(by_kind.get(True), by_kind.get(False))


def missed(webhook: Webhook, cursors: Cursors) -> CatchUp | None:
    """What passed while a webhook was paused, if anything did."""
    start = max(webhook.paused_behind or webhook.after, webhook.after)
    return CatchUp(start, cursors.reached) if start < cursors.reached else None


def position_columns(position: Position) -> dict[str, Any]:
    """A position as columns."""
    return {"mark": position.mark, "job": position.job, "n": position.n}


def position_of(row: Row) -> Position:
    """Where a cursor stands."""
    return Position(row["mark"], row["job"], row["n"])


def catch_up_columns(webhook_id: UUID, wanted: CatchUp, cursors: Cursors | None) -> dict[str, Any]:
    """The columns of a webhook's own cursor, with what it has to catch up with already."""
    wanted = _widened(cursors and cursors.own, wanted)
    return {
        "webhook": webhook_id,
        **position_columns(wanted.start),
        "until_position": str(wanted.until),
        "since": wanted.since,
        "again": wanted.again,
        "generation": new_generation(),
    }


def _widened(own: Row | None, wanted: CatchUp) -> CatchUp:
    """What covers both: more may be told, never less."""
    if own is None:
        return wanted
    until = _position(own["until_position"]) or wanted.until
    since = None if wanted.since is None or own["since_at"] is None else min(wanted.since, own["since_at"])
    return CatchUp(
        min(wanted.start, position_of(own)),
        max(wanted.until, until),
        since,
        wanted.again or bool(own["again"]),
    )


def until_of(row: Row) -> Position | None:
    """Where a cursor ends."""
    return _position(row["until_position"])


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


def _position(text: str | None) -> Position | None:
    return None if text is None else Position.read(text)
