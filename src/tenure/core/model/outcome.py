"""How attempts end: what a worker reports, what the store answers, and what stays on record."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from msgspec import Struct

from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.values.bounds import HORIZON, within
from tenure.core.values.documents import NULL, Document
from tenure.core.values.failure import Failure


class Succeeded(Struct, frozen=True, gc=False):
    """The handler returned `result`."""

    result: Document = NULL


class Recoverable(Struct, frozen=True):
    """The attempt failed and may be tried again `after` a while, if attempts are left."""

    error: Failure
    after: timedelta

    def __post_init__(self) -> None:
        within("after", self.after, timedelta(0), HORIZON)


class Unrecoverable(Struct, frozen=True):
    """The attempt failed and trying again is pointless."""

    error: Failure


class Stopped(Struct, frozen=True):
    """The owner stopped the attempt because its job was cancelled."""


class Suspended(Struct, frozen=True):
    """The handler gave its slot back and is to run again `after` a while."""

    after: timedelta

    def __post_init__(self) -> None:
        within("after", self.after, timedelta(0), HORIZON)


Outcome = Succeeded | Recoverable | Unrecoverable | Stopped | Suspended


class Report(Struct, frozen=True, gc=False):
    """How the attempt under a lease ended, as its owner reports it, and what the attempt used."""

    lease: Lease
    outcome: Outcome
    usage: Usage | None = None


class Settled(Struct, frozen=True):
    """The store's answer to reports: the state that each accepted one led to, and the leases lost."""

    accepted: Mapping[Lease, State]
    lost: Sequence[Lease]


class Ending(StrEnum):
    """How an attempt ended, as it is recorded."""

    SUCCEEDED = "succeeded"
    RECOVERABLE = "recoverable"
    UNRECOVERABLE = "unrecoverable"
    STOPPED = "stopped"
    SUSPENDED = "suspended"
    HANDED_BACK = "handed_back"
    KILLED = "killed"
    LOST = "lost"


ENDING_OF: Mapping[type[Outcome], Ending] = {
    Succeeded: Ending.SUCCEEDED,
    Recoverable: Ending.RECOVERABLE,
    Unrecoverable: Ending.UNRECOVERABLE,
    Stopped: Ending.STOPPED,
    Suspended: Ending.SUSPENDED,
}
"""How each outcome is recorded."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One start of a job. `ended_at` and `ending` are empty while it runs.

    `usage` is what its owner reported; there is no report of an attempt that was lost or handed back.
    """

    job: UUID
    fence: int
    number: int
    worker: str
    started_at: datetime
    ended_at: datetime | None = None
    ending: Ending | None = None
    error: Failure | None = None
    usage: Usage | None = None
