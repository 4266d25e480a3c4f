"""The steps that let a job go on which was put aside.

They are written once, as a generator that yields steps and is sent their rows; each store runs them in one
transaction.
"""

from collections.abc import Generator, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.storage.mapping.aside import TIMERS
from tenure.storage.mapping.values import Row

REAPER = {"actor": "reaper", "reason": "lease ran out"}
DOCTOR = {"actor": "doctor", "reason": "its lease is gone"}
"""In whose name a job is taken from its owner, and why."""

LENT = timedelta(hours=1)
"""How long the lease lasts under which a kept report is settled."""


class Part(NamedTuple):
    """A part of the script `put_back`, and its values besides the job."""

    name: str
    values: Mapping[str, Any] = {}


class Settle(NamedTuple):
    """Settle an attempt by the report that was kept."""

    kept: Row
    owner: str


class Reap(NamedTuple):
    """Take a job from its owner, whose lease has run out."""

    job: UUID
    fence: int


Step = Part | Settle | Reap


def put_back(job: UUID) -> Generator[Step, Sequence[Row], JobStanding | None]:
    """Put a job back where it was met; None if there is no such job."""
    kept = yield Part("take")
    found = yield Part("found")
    kept = kept or (yield Part("stranded"))
    if not found:
        return None
    state = State(found[0]["state"])
    if not kept:
        return JobStanding(job, state, moved=False)
    [row] = kept
    if state.is_owned and found[0]["lease"] == row["fence"]:
        yield from _end_attempt(job, row)
    elif state is State.QUEUED:
        yield Part("line_up")
    elif state in TIMERS:
        yield Part("time", {"kind": row["kind"] or TIMERS[state]})
    [after] = yield Part("found")
    return JobStanding(job, State(after["state"]), moved=True)


def _end_attempt(job: UUID, kept: Row) -> Generator[Step, Sequence[Row], None]:
    """Settle an attempt by the report that was kept; reap it if there is none or it settles nothing."""
    fence, owner = kept["fence"], kept["owner"] or "unknown"
    before = yield Part("lease", {"fence": fence})
    settled: Sequence[Row] = []
    if kept["ending"]:
        yield Part("lend", {"fence": fence, "owner": owner, "lease_for": LENT})
        settled = yield Settle(kept, owner)
    if not settled:
        yield Part("lend", {"fence": fence, "owner": owner, "lease_for": timedelta(0)})
        yield Reap(job, fence)
    if before:
        yield Part("restore", {"fence": fence, **before[0]})
    else:
        yield Part("end", {"fence": fence})
