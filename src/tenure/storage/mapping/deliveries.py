"""Between deliveries, with the cursors that make them, and rows, for both stores."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tenure.core.errors import InvalidInput, PositionGone
from tenure.core.model.states import STEPS
from tenure.core.reports.reading import Position
from tenure.core.values.bounds import LARGEST_BATCH, LARGEST_FEED, named, printable, whole
from tenure.core.values.text import storable
from tenure.core.webhooks.delivery import (
    Cursor,
    Delivery,
    DeliveryState,
    DueDelivery,
    LastTries,
    LastTry,
    NewDelivery,
    Scanned,
    ScannedEvent,
)
from tenure.core.webhooks.webhook import Webhook
from tenure.storage.mapping.job_rows import tags_of
from tenure.storage.mapping.reading import entry_from
from tenure.storage.mapping.values import Row
from tenure.storage.mapping.webhook_cursors import new_generation, position_columns, position_of, until_of
from tenure.storage.mapping.webhooks import secret_from

BIRTHS = frozenset(step.event for step in STEPS if step.source is None)
"""The types that the creation of a job can have."""

MOST_SCANNED = 20_000
"""Events that one `scan` looks at."""

MOST_AHEAD = 5_000
"""With more deliveries waiting, nothing is caught up with."""

FURTHEST = Position.behind(2**62)
"""Behind everything."""

_MICROSECOND = timedelta(microseconds=1)


def last_tries_from(rows: Sequence[Row], limit: int) -> LastTries:
    """The rows of `last_tries`, which was run with this limit for each state."""
    noted: dict[str, list[datetime]] = {}
    for row in rows:
        noted.setdefault(row["state"], []).append(row["noted_at"])
    # Of a state with more, those that are left out were noted before: so was what they were tried for.
    cut = [min(times) for times in noted.values() if len(times) == limit]
    tries = [
        LastTry(row["tried_at"], _took(row), row["state"] == DeliveryState.DELIVERED)
        for row in rows
        if row["tried_at"] is not None
    ]
    return LastTries(max(cut, default=None), sorted(tries, key=lambda one: one.at))


def delivery_from(row: Row) -> Delivery:
    """A row of a delivery."""
    return Delivery(
        webhook=row["webhook"],
        message=row["message"],
        type=row["type"],
        at=row["at"],
        job=row["job"],
        n=row["n"],
        state=DeliveryState(row["state"]),
        tries=row["tries"],
        noted_at=row["noted_at"],
        next_at=row["next_at"],
        tried_at=row["tried_at"],
        status=row["status"],
        took=_took(row),
        problem=row["problem"],
    )


def first_delivery(found: Sequence[Row]) -> Delivery | None:
    """The delivery of the only row, if there is one."""
    return delivery_from(found[0]) if found else None


def due_from(taken: Iterable[Row], webhooks: Iterable[Webhook], secrets: Iterable[Row]) -> list[DueDelivery]:
    """Deliveries that were taken, with their webhooks and what signs: the newest secret first."""
    known = {one.id: one for one in webhooks}
    signing: dict[UUID, list[Any]] = {}
    for row in secrets:
        signing.setdefault(row["webhook"], []).append(secret_from(row))
    return [
        DueDelivery(
            delivery=delivery_from(row),
            body=row["body"],
            webhook=known[row["webhook"]],
            secrets=tuple(signing.get(row["webhook"], ())),
        )
        for row in taken
    ]


def cursor_from(row: Row) -> Cursor:
    """A row of `take_cursor`."""
    return Cursor(
        name=row["name"],
        position=position_of(row),
        generation=row["generation"],
        now=row["now_at"],
        webhook=row["webhook"],
        until=until_of(row),
        since=row["since_at"],
        again=bool(row["again"]),
    )


def check_new(deliveries: Sequence[NewDelivery]) -> None:
    """Refuse deliveries that cannot be stored."""
    if len(deliveries) > LARGEST_BATCH:
        raise InvalidInput(
            "deliveries", f"has {len(deliveries):,} in one call", f"give at most {LARGEST_BATCH:,}"
        )
    for one in deliveries:
        named("message", one.message)


def check_holder(holder: str) -> None:
    """Refuse a holder whose name cannot be stored."""
    printable("holder", holder, least=1)


def move(cursor: Cursor, position: Position) -> dict[str, Any]:
    """A cursor as it was read, and where it is to go."""
    return {
        "name": cursor.name,
        "generation": cursor.generation,
        "until_position": cursor.until and str(cursor.until),
        **position_columns(cursor.position),
        **{f"to_{name}": value for name, value in position_columns(position).items()},
    }


def leave_columns(start: Position, until: Position) -> dict[str, Any]:
    """What a cursor passes, for a webhook that it leaves it to."""
    return {**position_columns(start), "until_position": str(until), "generation": new_generation()}


def scan_columns(types: frozenset[str], until: Position | None, limit: int) -> dict[str, Any]:
    """What both stores are told about a scan in the same way."""
    whole("limit", limit, 1, LARGEST_FEED)
    end = until or FURTHEST
    return {
        "until_mark": end.mark,
        "until_job": end.job,
        "until_n": end.n,
        "births": bool(types & BIRTHS),
        "limit": limit,
        "most": MOST_SCANNED,
    }


def scanned_from(found: Sequence[Row], until: Position | None) -> Scanned:
    """The rows of `scan`: there is one at least, which says how far it was read."""
    reached = found[0]
    if reached["is_gone"]:
        raise PositionGone
    position = Position(reached["reached_mark"], UUID(str(reached["reached_job"])), reached["reached_n"])
    events = [ScannedEvent(entry_from(row), tags_of(row["tags"])) for row in found if row["mark"] is not None]
    if reached["is_end"] and until is not None:
        position = until
    return Scanned(events, position, bool(reached["is_end"]))


def stored_problem(problem: str | None) -> str | None:
    """What went wrong, in characters that every store accepts."""
    return None if problem is None else storable(problem)


def _took(row: Row) -> timedelta | None:
    return None if row["took_us"] is None else row["took_us"] * _MICROSECOND
