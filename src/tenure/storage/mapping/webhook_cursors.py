"""Between the cursors of webhooks and rows, for both stores."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.reports.reading import Position
from tenure.core.webhooks.webhook import Webhook
from tenure.storage.mapping.values import Row

MARGIN = timedelta(hours=1)
"""How long before a moment one begins to look for events that happened after it."""


def new_generation() -> int:
    """Where the count of changes begins: not where it did for a cursor of that name before."""
    return secrets.randbits(40)


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
    until = position_in(own["until_position"]) or wanted.until
    again = wanted.again or bool(own["again"])
    since = own["since_at"]
    if wanted.since is not None and since is not None:
        since = min(wanted.since, since)
    elif again:
        since = None
    return CatchUp(min(wanted.start, position_of(own)), max(wanted.until, until), since, again)


def position_in(text: str | None) -> Position | None:
    """A position that is stored as a text."""
    return None if text is None else Position.read(text)


def until_of(row: Row) -> Position | None:
    """Where a cursor ends."""
    return position_in(row["until_position"])
