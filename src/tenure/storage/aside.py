"""Jobs that are put aside: the verbs about them, part of the storage contract, and how the guilty are found.

A verb that takes a batch is refused as a whole when a single row of it cannot be written. So that nobody
suffers for a neighbour, a store whose batch was refused for a reason of data halves it until the guilty stand
alone, each half in a savepoint that is taken back, and puts these aside: a row in `aside`, and out of the
line, the timers or the lease's batch they were met in. The verb itself raises JobsAside then; called again it
goes without them. Nothing of this is done while nothing is refused.
"""

from collections.abc import Generator, Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID

from tenure.core.aside import Aside, Asides, Met
from tenure.core.job import Standing
from tenure.core.lease import Lease, Line
from tenure.core.outcome import Ending, Report
from tenure.core.states import State
from tenure.storage.turn import Reported, reported, usage_columns
from tenure.storage.values import Row, failure_of, usage_from

Suspect = TypeVar("Suspect")

MOST_GUILTY = 16
"""How many are put aside at a time: the search has to end before anybody's patience does."""

MOST_LISTED = 1_000
"""How far jobs that were put aside are counted."""


TIMERS = {State.SCHEDULED: "scheduled", State.RETRYING: "retry", State.SUSPENDED: "resume"}
"""What a job in these states waits for, unless its timer said otherwise."""


class AsideStore(Protocol):
    """The verbs about jobs that the database refuses to move."""

    async def strand(self, worker: str, lost: Sequence[Report | Lease]) -> list[Aside]:
        """Put aside those of lost attempts whose lease row is gone though the job is still theirs.

        Nobody could ever settle or reap such a job. Attempts that were lost in any other way are left alone.
        """

    async def asides(
        self, *, jobs: Sequence[UUID] | None = None, namespace: str | None = None, limit: int = 50
    ) -> Asides:
        """Jobs that were put aside, the latest first; at most 200, counted up to a thousand."""

    async def put_back(self, job: UUID) -> Standing | None:
        """Let a job that was put aside go on, once somebody has mended it; None when there is no such job.

        One whose attempt was under way is settled by the report that was kept, which had come in time; where
        there is none, it is taken from its owner as `reap` does. Others go back to their place in line, or to
        their timer. One that is owned under a lease whose row is gone counts as aside; nothing else is moved.
        DataRefused when it still cannot be moved: then it stays where it is.
        """


class Refusal(NamedTuple):
    """Why the database refuses to move a job: its name for the reason, where it has one, and what it said."""

    code: str | None
    text: str


LEASE_IS_GONE = Refusal(
    None, "the row of its lease is gone: nobody can settle it, and nobody would take it back"
)


class Found(NamedTuple):
    """A job that is guilty: who met it and in which verb, whose it was, where it stood, what it reported."""

    job: UUID
    refusal: Refusal
    verb: Met
    by: str
    place: tuple[int, int, int] | None = None
    owner: str | None = None
    report: Reported | None = None


def halved(
    suspects: Sequence[Suspect], most: int = MOST_GUILTY
) -> Generator[Sequence[Suspect], Refusal | None, list[tuple[Suspect, Refusal]]]:
    """Those who are refused by themselves, up to so many: yields batches, is sent what was said of each."""
    refusal = yield suspects
    if refusal is None:
        return []
    if len(suspects) == 1:
        return [(suspects[0], refusal)]
    middle = len(suspects) // 2
    guilty = yield from halved(suspects[:middle], most)
    if len(guilty) < most:
        guilty += yield from halved(suspects[middle:], most - len(guilty))
    return guilty


def columns(found: Found) -> dict[str, Any]:
    """A job as it is put aside, with its report."""
    line, rank, seq = found.place or (None, None, None)
    report = found.report
    cpu_ms, peak_bytes, exit_code, signal = usage_columns(report.usage if report else None)
    return {
        "job": found.job,
        "verb": str(found.verb),
        "code": found.refusal.code,
        "text": found.refusal.text,
        "by": found.by,
        "owner": found.owner,
        "line": line,
        "rank": rank,
        "seq": seq,
        "ending": str(report.ending) if report else None,
        "result": report.result if report else None,
        "error": report.error if report else None,
        "after": report.after if report else None,
        "cpu_ms": cpu_ms,
        "peak_bytes": peak_bytes,
        "exit_code": exit_code,
        "signal": signal,
    }


def aside_from(row: Row) -> Aside:
    """A row of `asides`."""
    ending, error = row["ending"], row["error"]
    return Aside(
        job=row["job"],
        line=Line(row["queue"], row["definition"], row["version"]),
        namespace=row["namespace"],
        state=State(row["state"]),
        fence=row["fence"],
        verb=Met(row["verb"]),
        code=row["code"],
        text=row["text"],
        since=row["since_at"],
        by=row["by"],
        ending=Ending(ending) if ending else None,
        result=row["result"],
        error=failure_of(error) if error else None,
    )


def asides_from(rows: Iterable[Row], limit: int) -> Asides:
    """The rows of `asides`; each says how many there are."""
    found = list(rows)
    return Asides([aside_from(row) for row in found[:limit]], found[0]["in_all"] if found else 0)


def stranded(lease: Lease, report: Reported | None, worker: str) -> Found:
    """An attempt whose lease row is gone, as its worker has found out."""
    verb = Met.HEARTBEAT if report is None else Met.SETTLE
    return Found(lease.job, LEASE_IS_GONE, verb, worker, owner=worker, report=report)


def by_lease(lost: Iterable[Report | Lease]) -> dict[Lease, Reported | None]:
    """Attempts that were lost, with their reports where there are any."""
    given = list(lost)
    leases: dict[Lease, Reported | None] = {one: None for one in given if isinstance(one, Lease)}
    told = reported(one for one in given if isinstance(one, Report))
    return {**leases, **{one.lease: one for one in told}}


def reported_from(row: Row, after: timedelta | None) -> Reported:
    """What was kept of a report."""
    usage = usage_from(row) if row["cpu_ms"] is not None else None
    return Reported(
        Lease(row["job"], row["fence"]), Ending(row["ending"]), row["result"], row["error"], after, usage
    )
