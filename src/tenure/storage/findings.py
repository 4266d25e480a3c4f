"""What somebody with a database shell has left and no guard refused.

Jobs that nothing will ever move on, and rows on record that no step has written: whoever reads does not
believe them, but some stand where a step would write its own.
"""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from tenure.storage.values import Row

MOST = 100
"""How many findings one look brings, unless told."""

_AGAIN = "`tenure jobs cancel {job}`, then `tenure jobs replay {job}`"
_STUCK = {
    "no_place": ("it is queued and stands in no line, so nobody will claim it", _AGAIN),
    "no_timer": ("it waits for a time that no timer keeps, so it will wait for ever", _AGAIN),
    "no_lease": (
        "it is owned under a lease that is not there, so nobody will take it back",
        f"set it in job_state to queued (or cancelled), with lease = NULL, n = n + 1; then {_AGAIN}",
    ),
    "aside": (
        "it is aside, since the database refused to move it",
        "mend its rows, then `tenure jobs put-back {job}`",
    ),
}
_FORGED = {
    "event": ("n", "event {number} was written by no step of it"),
    "attempt": ("fence", "the attempt under fence {number} was written by none that has ended"),
    "result": (None, "its result was written by no success of it"),
}


class Finding(NamedTuple):
    """A row that no verb would have left so: whose it is, what is wrong with it, and the way out."""

    job: UUID
    kind: str
    problem: str
    cure: str

    def __str__(self) -> str:
        return f"job {self.job}: {self.problem}; {self.cure}"


def findings_from(rows: Iterable[Row], removal: str) -> list[Finding]:
    """The rows of `inspect`; `removal` is the store's way to delete what `row` names, past its guards."""
    return [_finding(row["job"], row["kind"], row["number"], removal) for row in rows]


def _finding(job: UUID, kind: str, number: int | None, removal: str) -> Finding:
    if kind in _STUCK:
        problem, cure = _STUCK[kind]
        return Finding(job, kind, problem, cure.format(job=job))
    column, problem = _FORGED[kind]
    row = f"{kind} WHERE job = '{job}'" + (f" AND {column} = {number}" if column else "")
    return Finding(job, kind, problem.format(number=number), f"delete it: {removal.format(row=row)}")
