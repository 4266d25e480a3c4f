"""From the row of `obstacles`, the same on both stores, to what may keep a job from running."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from msgspec import Struct

from tenure.core.model.durable import OpenWait, WaitKind
from tenure.core.model.limit import LimitUse
from tenure.core.reports.failures import MOST_COUNTED, Count
from tenure.core.reports.obstacles import (
    MOST_HOLDERS,
    MOST_NAMED,
    AsideRefusal,
    LimitHolder,
    LimitStanding,
    LiveWorkers,
    Obstacles,
)
from tenure.core.reports.operations import Pause, PauseScope
from tenure.storage.mapping.job_rows import failure_of
from tenure.storage.mapping.reading import listed_from
from tenure.storage.mapping.values import Row

BOUNDS = {"most": MOST_COUNTED + 1, "most_holders": MOST_HOLDERS, "most_named": MOST_NAMED}
"""The values of the statement that bound it."""

T = TypeVar("T")
_SAME_IN_WORKERS = ("in_all", "serving", "draining", "ready", "slots", "free")


class _PauseRow(Struct, frozen=True):
    """A pause that holds the line of the job."""

    queue: str
    definition: str
    version: int
    at: datetime
    until: datetime | None
    by: str
    reason: str | None

    def pause(self) -> Pause:
        scope = PauseScope(self.queue, self.definition, self.version)
        return Pause(scope=scope, at=self.at, until=self.until, by=self.by, reason=self.reason)


class _LimitRow(Struct, frozen=True):
    """A limit that the job comes under."""

    name: str
    key: str
    size: int
    held: int
    opens_at: datetime | None
    holders: Sequence[LimitHolder] | None

    def standing(self) -> LimitStanding:
        use = LimitUse(self.name, self.key, self.size, self.held, self.opens_at)
        return LimitStanding(use, self.holders or [])


_pauses = msgspec.json.Decoder(list[_PauseRow]).decode
_limits = msgspec.json.Decoder(list[_LimitRow]).decode
_doubts = msgspec.json.Decoder(list[tuple[str, datetime]]).decode
_names = msgspec.json.Decoder(list[str]).decode
_numbers = msgspec.json.Decoder(list[int]).decode


def obstacles_from(row: Row) -> Obstacles:
    """The row of `obstacles`."""
    return Obstacles(
        now=row["now_at"],
        job=listed_from(row),
        failures=row["failures"],
        error=failure_of(row["error"]) if row["error"] else None,
        grace=timedelta(milliseconds=row["grace_ms"]),
        cancel_requested_at=row["cancel_requested_at"],
        worker=row["worker"],
        lease_expires_at=row["lease_expires_at"],
        is_placed=bool(row["is_placed"]),
        aside=AsideRefusal(row["verb"], row["code"], row["text"]) if row["verb"] else None,
        pauses=[one.pause() for one in _some(_pauses, row["pauses"])],
        limits=[one.standing() for one in _some(_limits, row["limits"])],
        ahead=Count(min(row["ahead"], MOST_COUNTED), row["ahead"] > MOST_COUNTED),
        workers=LiveWorkers(
            **{name: row[name] for name in _SAME_IN_WORKERS},
            queues=_some(_names, row["queues"]),
            versions=_some(_numbers, row["versions"]),
        ),
        upkeep_at=row["upkeep_at"],
        overdue_at=row["overdue_at"],
        wait=_wait(row),
        doubts=_some(_doubts, row["doubts"]),
    )


def _wait(row: Row) -> OpenWait | None:
    if row["wait_kind"] is None:
        return None
    return OpenWait(
        job=row["id"],
        kind=WaitKind(row["wait_kind"]),
        step=row["wait_step"],
        signal=row["wait_signal"],
        since=row["wait_at"],
        until=row["due_at"],
    )


def _some(decode: Callable[[str], list[T]], text: str | None) -> list[T]:
    return decode(text) if text else []
