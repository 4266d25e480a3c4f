"""What a worker holds: the lines it serves, its leases, the jobs it owns under them, and its heartbeats.

Values that are made for every job are hidden from the garbage collector: they cannot be part of a cycle.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.policy import Policy
from tenure.core.values.bounds import LARGEST_BATCH, LEASE_LENGTH, named, printable, whole, within
from tenure.core.values.documents import Document
from tenure.core.values.plain_fields import PlainFields
from tenure.core.values.text import UNSTORABLE

Stop = Literal["cancelled", "timed-out"]
"""Why an attempt has to stop."""


class Line(Struct, frozen=True, order=True):
    """Where queued jobs of one kind stand: the unit a worker serves and an operator pauses."""

    queue: str
    definition: str
    version: int = 1

    def __post_init__(self) -> None:
        named("queue", self.queue)
        named("definition", self.definition)
        whole("version", self.version, 1, 2**31 - 1)


class Lease(Struct, frozen=True, order=True, gc=False):
    """Proof of one claim. The fence only ever grows, so an old lease can change nothing."""

    job: UUID
    fence: int


class Order(Struct, frozen=True, kw_only=True):
    """What a worker asks for: up to `limit` jobs from the lines it serves, each under a lease."""

    worker: str
    lines: tuple[Line, ...]
    limit: int
    lease_for: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        printable("worker", self.worker, least=1)
        whole("limit", self.limit, 0, LARGEST_BATCH)
        within("lease_for", self.lease_for, *LEASE_LENGTH)


class Claimed(Struct, frozen=True, kw_only=True, gc=False):
    """A job that belongs to the worker that claimed it, as long as its lease holds."""

    lease: Lease
    namespace: str
    definition: str
    version: int
    queue: str
    params: Document
    policy: Policy
    attempt: int
    traceparent: str | None
    queued_at: datetime
    started_at: datetime


class RemoteClaim(Struct, frozen=True):
    """A claimed job, and when its lease expires unless it is prolonged."""

    claimed: Claimed
    expires_at: datetime

    @property
    def lease_for(self) -> timedelta:
        """The length of the lease."""
        return self.expires_at - self.claimed.started_at

    @property
    def deadline(self) -> datetime:
        """The time by which the attempt must end."""
        return self.claimed.started_at + self.claimed.policy.timeout


class Progress(PlainFields, Struct, frozen=True, omit_defaults=True):
    """The progress that a handler reports: a fraction from 0 to 1 and a short message."""

    fraction: float
    message: str = ""

    def __post_init__(self) -> None:
        within("fraction", self.fraction, 0.0, 1.0)
        if len(self.message) > 1000 or UNSTORABLE.search(self.message):
            raise InvalidInput("message", "is over 1,000 characters, or contains NUL or a lone surrogate")


class Presence(Struct, frozen=True):
    """A worker that works under no lease, and whether it claims jobs and can start them."""

    worker: str
    ready: bool


class Pulse(Struct, frozen=True, kw_only=True):
    """A worker's heartbeat: the leases it still works under, and their progress.

    `ready` says whether the worker claims jobs and can start them.
    """

    worker: str
    leases: Sequence[Lease]
    lease_for: timedelta = timedelta(seconds=30)
    progress: Mapping[Lease, Progress] = {}
    ready: bool = True

    def __post_init__(self) -> None:
        printable("worker", self.worker, least=1)
        within("lease_for", self.lease_for, *LEASE_LENGTH)


class Beat(Struct, frozen=True):
    """The answer to a pulse: leases kept, leases lost, and those among the kept whose attempt must stop.

    `drain` says that an operator wants the worker to claim no more. `untold` are those among the kept whose
    progress was not written, since another transaction has locked the job: it is to be sent again.
    """

    kept: frozenset[Lease]
    lost: frozenset[Lease]
    cancelling: frozenset[Lease]
    drain: bool = False
    untold: frozenset[Lease] = frozenset()
