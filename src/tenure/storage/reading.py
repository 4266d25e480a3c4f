"""What is read from a store: its verbs, part of the storage contract, and how rows become their answers."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol
from uuid import UUID

import msgspec

from tenure.core.bounds import LARGEST_FEED
from tenure.core.job import Event, Job
from tenure.core.lease import Line
from tenure.core.limit import LimitUse
from tenure.core.operations import Definition, LineStatus, Pause, Replayed, Worker, WorkerStatus
from tenure.core.outcome import Attempt
from tenure.core.reading import End, Entry, Filter, Listed, Outlook, Page, Position, Recent
from tenure.core.states import State
from tenure.core.trail import Logged
from tenure.storage.values import Row, event_from, tags_of

_counts = msgspec.json.Decoder(dict[str, int]).decode
_lines = msgspec.json.Decoder(tuple[tuple[str, str, int], ...]).decode
_SAME_IN_LIST = tuple(name for name in Listed.__struct_fields__ if name not in ("state", "tags"))
_EVENT = Event.__struct_fields__


class ReadingStore(Protocol):
    """The verbs that read and change nothing."""

    async def get(self, job: UUID) -> Job | None:
        """The job as last committed, or None."""

    async def events(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Event]:
        """The history of one job from its creation on, by n, from behind `after`; empty for an unknown job.

        Numbers only grow: whoever goes on from behind the last one misses nothing and sees nothing twice.
        """

    async def attempts(self, job: UUID, *, after: int = 0, limit: int | None = None) -> list[Attempt]:
        """The starts of one job by fence, from behind `after`, the current one included.

        Empty for an unknown job.
        """

    async def logs(
        self,
        job: UUID,
        *,
        fence: int | None = None,
        after: tuple[int, int] | None = None,
        limit: int = 1000,
    ) -> list[Logged]:
        """What the attempts of one job wrote, or the one under `fence`, by (fence, n) from behind `after` on.

        At most 10,000 lines; empty for an unknown job.
        """

    async def last_logs(self, job: UUID, *, limit: int = 1000) -> list[Logged]:
        """The last lines of what the attempts of one job wrote, by (fence, n), however many came before.

        At most 10,000 lines; empty for an unknown job.
        """

    async def page(
        self, which: Filter, *, after: UUID | None = None, newest_first: bool = True, limit: int = 50
    ) -> Page:
        """Jobs by id, which is the order of creation, from behind `after` on; at most 200 a page.

        Never counts and never skips rows: a page costs the same wherever it begins. A job that is created or
        moves while somebody pages through may be seen or missed, but no other job is missed or seen twice.
        Jobs with ids of their caller's making stand where their id puts them; `created_after` and
        `created_before` find them only if the id's time is within a day of the truth.
        """

    async def feed(self, after: Position | None = None, *, limit: int = 1000) -> list[Entry]:
        """Events of all jobs behind `after`, in an order that never changes; empty when there are none yet.

        Whoever reads on from the last position misses nothing and sees nothing twice, however late a
        transaction commits; the events of one job come by n. On PostgreSQL an open transaction that has
        written anything, in this database or another one of the server, holds the feed back until it ends.
        """

    async def end_of_feed(self) -> Position:
        """The position behind all that the feed would give now."""

    async def recent(self, *, limit: int = LARGEST_FEED) -> Recent:
        """How jobs ended lately, as far as the last `limit` events tell: it costs the same at any age."""


def listed_from(row: Row) -> Listed:
    """A row of `page.rows`."""
    return Listed(
        **{name: row[name] for name in _SAME_IN_LIST}, state=State(row["state"]), tags=tags_of(row["tags"])
    )


def entry_from(row: Row) -> Entry:
    """A row of `feed`."""
    return Entry(
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
        owed=bool(row["owed"]),
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
    )


def line_from(row: Row) -> LineStatus:
    """A row of `lines`; `counts` is a JSON object by state, `paused_*` columns are empty while it is open."""
    counts = {State(state): n for state, n in _counts(row["counts"] or "{}").items() if n}
    return LineStatus(
        line=Line(row["queue"], row["definition"], row["version"]),
        counts=counts,
        oldest=row["oldest_at"],
        pause=_pause_from(row) if row["paused_at"] is not None else None,
        workers=row["workers"],
    )


def _pause_from(row: Row) -> Pause:
    return Pause(
        at=row["paused_at"], until=row["paused_until_at"], by=row["paused_by"], reason=row["pause_reason"]
    )


def limit_from(row: Row) -> LimitUse:
    """A row of `limits`."""
    return LimitUse(row["name"], row["key"], row["size"], row["held"])


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
        worker=Worker(**same, lines=tuple(Line(*names) for names in _lines(row["lines"]))),
        started_at=row["started_at"],
        seen_at=row["seen_at"],
        draining=bool(row["draining"]),
        running=row["running"],
        is_alive=bool(row["is_alive"]),
        is_ready=bool(row["is_ready"]),
    )


def replayed_from(row: Row) -> Replayed:
    """A row of `replay`."""
    state = row["state"]
    return Replayed(row["job"], State(state) if state else None, row["replay"], bool(row["fresh"]))
