"""What somebody with a database shell has left and no guard refused: jobs that nothing will ever move on."""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from tenure.storage.values import Row

MOST = 100
"""How many findings one look brings, unless told."""

_AGAIN = "`tenure jobs cancel {job}`, then `tenure jobs replay {job}`"
_KINDS = {
    "no_place": (
        "it is queued and stands in no line, so nobody will claim it",
        _AGAIN,
    ),
    "no_timer": (
        "it waits for a time that no timer keeps, so it will wait for ever",
        _AGAIN,
    ),
    "no_lease": (
        "it is owned under a lease that is not there, so nobody will take it back",
        f"set it in job_state to queued (or cancelled), with lease = NULL, n = n + 1; then {_AGAIN}",
    ),
}


class Finding(NamedTuple):
    """A row that no verb would have left so: whose it is, what is wrong with it, and the way out."""

    job: UUID
    kind: str
    problem: str
    cure: str

    def __str__(self) -> str:
        return f"job {self.job}: {self.problem}; {self.cure}"


def findings_from(rows: Iterable[Row]) -> list[Finding]:
    """The rows of `inspect`."""
    return [_finding(row["job"], row["kind"]) for row in rows]


def _finding(job: UUID, kind: str) -> Finding:
    problem, cure = _KINDS[kind]
    return Finding(job, kind, problem, cure.format(job=job))
