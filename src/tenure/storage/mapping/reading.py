"""From rows of both stores to what is read: lists, the feed, lines, definitions, workers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tenure.core.model.job import Event
from tenure.core.model.lease import Line
from tenure.core.model.limit import LimitPage, LimitUse
from tenure.core.model.states import State
from tenure.core.reports.operations import (
    Definition,
    LedBy,
    LineStatus,
    Pause,
    PauseScope,
    Replayed,
    WorkerInfo,
    WorkerStatus,
)
from tenure.core.reports.reading import Brief, End, FeedEntry, Listed, Outlook, Position, Recent
from tenure.core.webhooks.webhook import FAILURES_TO_CLOSE, MOST_AT_ONCE
from tenure.storage.mapping.job_rows import event_from, tags_of
from tenure.storage.mapping.values import Row

_counts = msgspec.json.Decoder(dict[str, int]).decode
_lines = msgspec.json.Decoder(tuple[tuple[str, str, int], ...]).decode
_SAME_IN_LIST = tuple(name for name in Listed.__struct_fields__ if name not in ("state", "tags"))
_EVENT = Event.__struct_fields__

BRIEF = {"longest_params": 4096, "longest_message": 1000}
"""What `briefs` is told: how much of a job it reads."""

AT_ONCE = {"at_once": MOST_AT_ONCE, "closed_from": FAILURES_TO_CLOSE}
"""What `outlook` is told about deliveries: how many of a webhook are tried at a time, and when only one."""


def listed_from(row: Row) -> Listed:
    """A row of `page.rows`."""
    return Listed(
        **{name: row[name] for name in _SAME_IN_LIST}, state=State(row["state"]), tags=tags_of(row["tags"])
    )


def brief_from(row: Row) -> Brief:
    """A row of `briefs`."""
    return Brief(
        job=row["id"],
        params=row["params"],
        creator=row["creator"],
        worker=row["worker"],
        error=None if row["kind"] is None else (row["kind"], row["message"] or ""),
    )


def entry_from(row: Row) -> FeedEntry:
    """A row of `feed`."""
    return FeedEntry(
        Position(row["mark"], row["job"], row["n"]),
        event_from({name: row[name] for name in _EVENT}),
        Line(row["queue"], row["definition"], row["version"]),
        row["namespace"],
    )


def outlook_from(row: Row) -> Outlook:
    """The row of `outlook`."""
    return Outlook(
        row["now_at"],
        bool(row["waiting"]),
        row["next_timer_at"],
        row["next_expiry_at"],
        next_resume=row["next_resume_at"],
        next_tick=row["next_tick_at"],
        owed=bool(row["owed"]),
        next_delivery=row["next_delivery_at"],
        has_cursor=bool(row["has_cursor"]),
        paced=row["paced_at"],
        drain=bool(row["drain"]),
    )


def recent_from(rows: Iterable[Row]) -> Recent:
    """The rows of `recent`."""
    found = list(rows)
    [bound] = [row for row in found if row["state"] is None]
    return Recent(bound["at"], bound["started_at"], [_end_from(row) for row in found if row["state"]])


def _end_from(row: Row) -> End:
    queued, started, at = row["queued_at"], row["started_at"], row["at"]
    has_run = started is not None and (queued is None or queued <= started)
    return End(
        State(row["state"]),
        at,
        started - queued if has_run and queued is not None else None,
        at - started if has_run else None,
        row["definition"],
    )


def line_from(row: Row) -> LineStatus:
    """A row of `lines`; `counts` is a JSON object by state, `paused_*` columns are empty without a pause."""
    counts = {State(state): n for state, n in _counts(row["counts"] or "{}").items() if n}
    return LineStatus(
        line=Line(row["queue"], row["definition"], row["version"]),
        counts=counts,
        oldest=row["oldest_at"],
        pause=None if row["paused_at"] is None else _pause_from(row, prefix="pause_"),
        workers=row["workers"],
    )


def pause_from(row: Row) -> Pause:
    """A row of `pauses`."""
    return _pause_from(row)


def _pause_from(row: Row, prefix: str = "") -> Pause:
    """A pause; the columns that say of what begin with the prefix."""
    return Pause(
        scope=PauseScope(row[f"{prefix}queue"], row[f"{prefix}definition"], row[f"{prefix}version"]),
        at=row["paused_at"],
        until=row["paused_until_at"],
        by=row["paused_by"],
        reason=row["pause_reason"],
    )


def limit_from(row: Row) -> LimitUse:
    """A row of `limits`."""
    return LimitUse(row["name"], row["key"], row["size"], row["held"], row["opens_at"])


def limit_page_from(rows: Sequence[Row], limit: int) -> LimitPage:
    """A page of so many rows of `limits`, from one row more than that."""
    uses = [limit_from(row) for row in rows[:limit]]
    place = (rows[limit - 1]["name"], rows[limit - 1]["number"]) if len(rows) > limit else None
    return LimitPage(uses, place)


def definition_from(row: Row) -> Definition:
    """A row of `definitions`."""
    return Definition(**{name: row[name] for name in Definition.__struct_fields__})


def written_lines(lines: Iterable[Line]) -> str:
    """Lines as JSON."""
    return msgspec.json.encode([(line.queue, line.definition, line.version) for line in lines]).decode()


def worker_from(row: Row) -> WorkerStatus:
    """A row of `workers`."""
    same: Mapping[str, Any] = {name: row[name] for name in ("id", "host", "pid", "version", "slots")}
    return WorkerStatus(
        worker=WorkerInfo(**same, lines=tuple(Line(*names) for names in _lines(row["lines"]))),
        started_at=row["started_at"],
        seen_at=row["seen_at"],
        draining=bool(row["draining"]),
        running=row["running"],
        is_alive=bool(row["is_alive"]),
        is_ready=bool(row["is_ready"]),
        led_by=None if row["queue"] is None else LedBy(row["queue"], row["failing_at"], row["problem"]),
    )


def replayed_from(row: Row) -> Replayed:
    """A row of `replay`."""
    state = row["state"]
    return Replayed(row["job"], State(state) if state else None, row["replay"], bool(row["fresh"]))
