"""Jobs that are put aside, as rows.

The database refuses a batch as a whole if it cannot write a single row of it. So that no job suffers for
another, the store then halves the batch until it has found the jobs that are refused alone (`culprits`), and
puts these aside: into a row of `aside`, and out of the line, the timers or the lease's batch that they were
met in. The verb raises JobsAside; called again, it goes on without them. Nothing of this is done while
nothing is refused.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.model.aside import Aside, AsidePage, Met
from tenure.core.model.lease import Lease, Line
from tenure.core.model.outcome import Ending, Report
from tenure.core.model.states import State
from tenure.storage.mapping.job_rows import failure_of, usage_from
from tenure.storage.mapping.turn_rows import ReportRow, report_rows, usage_columns
from tenure.storage.mapping.values import Row

MOST_LISTED = 1_000
"""Up to how many jobs that were put aside are counted."""

TIMERS = {State.SCHEDULED: "scheduled", State.RETRYING: "retry", State.SUSPENDED: "resume"}
"""The kind of timer of a job in these states, unless its timer was of another kind."""


class DatabaseRefusal(NamedTuple):
    """Why the database refuses to move a job: its code for the reason, if any, and its message."""

    code: str | None
    text: str


LEASE_IS_GONE = DatabaseRefusal(None, "the row of its lease is gone: it can neither be settled nor reaped")


class Culprit(NamedTuple):
    """A job to be put aside: by which process and verb it was met, its owner, its place, its report."""

    job: UUID
    refusal: DatabaseRefusal
    verb: Met
    by: str
    place: tuple[int, int, int] | None = None
    owner: str | None = None
    report: ReportRow | None = None


def columns(found: Culprit) -> dict[str, Any]:
    """The columns of a job that is put aside, with its report."""
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


def asides_from(rows: Iterable[Row], limit: int) -> AsidePage:
    """The rows of `asides`; each has the total."""
    found = list(rows)
    return AsidePage([aside_from(row) for row in found[:limit]], found[0]["in_all"] if found else 0)


def stranded(lease: Lease, report: ReportRow | None, worker: str) -> Culprit:
    """An attempt whose worker found its lease row gone."""
    verb = Met.HEARTBEAT if report is None else Met.SETTLE
    return Culprit(lease.job, LEASE_IS_GONE, verb, worker, owner=worker, report=report)


def by_lease(lost: Iterable[Report | Lease]) -> dict[Lease, ReportRow | None]:
    """Lost attempts, with their reports if there are any."""
    given = list(lost)
    leases: dict[Lease, ReportRow | None] = {one: None for one in given if isinstance(one, Lease)}
    reports = report_rows(one for one in given if isinstance(one, Report))
    return {**leases, **{one.lease: one for one in reports}}


def reported_from(row: Row, after: timedelta | None) -> ReportRow:
    """The report that was kept with a job."""
    usage = usage_from(row) if row["cpu_ms"] is not None else None
    return ReportRow(
        Lease(row["job"], row["fence"]), Ending(row["ending"]), row["result"], row["error"], after, usage
    )
