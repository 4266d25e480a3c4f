"""What a person with a database shell has left and no guard refused.

Jobs that nothing will ever move on, and records that no step has written: readers ignore them, but some
occupy the place of a row that a step would write.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from tenure.storage.mapping.values import Row

MOST = 100
"""How many findings one call returns by default."""

MENDED_BY = "`tenure doctor --mend`"
_STUCK = {
    "no_place": (
        "it is queued and stands in no line, so no worker will claim it",
        f"{MENDED_BY} puts it back in line",
    ),
    "no_timer": (
        "it waits for a time and has no timer, so it will wait forever",
        f"{MENDED_BY} gives it a timer again",
    ),
    "no_lease": (
        "it is owned under a lease that does not exist, so it will never be reaped",
        f"{MENDED_BY} takes it from its lost owner",
    ),
    "aside": (
        "it is aside, because the database refused to move it",
        "mend its rows, then `tenure jobs put-back {job}`",
    ),
}
_FORGED = {
    "event": ("n", "event {number} was written by no step of it"),
    "attempt": ("fence", "the attempt under fence {number} was written by none that has ended"),
    "result": (None, "its result was written by no success of it"),
}


class Finding(NamedTuple):
    """A row that no verb would have left so: its job, what is wrong with it, and the way out."""

    job: UUID
    kind: str
    problem: str
    cure: str
    since: datetime | None = None
    """When the job was last moved, where that was asked for."""

    def __str__(self) -> str:
        return f"job {self.job}: {self.problem}; {self.cure}"


class Portion(NamedTuple):
    """What is wrong among the jobs of one portion; how many they were; before which id the next begins."""

    findings: Sequence[Finding]
    jobs: int
    next: UUID | None


class LooseSlots(NamedTuple):
    """Places under a key of a limit that no running job holds, and how many."""

    name: str
    key: str
    places: int


class SlotsMended(NamedTuple):
    """How many places were freed; none while so many jobs under the limit are owned without a lease."""

    freed: int
    unleased: int


def portion_from(rows: Sequence[Row], limit: int) -> Portion:
    """The rows of `inspect_jobs`, whose last one says what was read."""
    *found, end = rows
    findings = [
        _finding(row["job"], row["kind"], None, "")._replace(since=row["updated_at"]) for row in found
    ]
    return Portion(findings, end["number"], end["job"] if end["number"] == limit else None)


def loose_slots_from(rows: Iterable[Row]) -> list[LooseSlots]:
    """The rows of `loose_slots`."""
    return [LooseSlots(row["name"], row["key"], row["n"]) for row in rows]


def findings_from(rows: Iterable[Row], removal: str) -> list[Finding]:
    """The rows of `inspect`; `removal` is the store's SQL to delete `row` past its guards."""
    return [_finding(row["job"], row["kind"], row["number"], removal) for row in rows]


def _finding(job: UUID, kind: str, number: int | None, removal: str) -> Finding:
    if kind in _STUCK:
        problem, cure = _STUCK[kind]
        return Finding(job, kind, problem, cure.format(job=job))
    column, problem = _FORGED[kind]
    row = f"{kind} WHERE job = '{job}'" + (f" AND {column} = {number}" if column else "")
    return Finding(job, kind, problem.format(number=number), f"delete it: {removal.format(row=row)}")
