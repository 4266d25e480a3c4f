"""What a worker holds: the lines it serves, its leases, what it owns under them, and its signs of life.

Values that are made for every job are kept from the garbage collector's rounds: they can hold no cycle.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from tenure.core.bounds import LARGEST_BATCH, LEASE_LENGTH, named, printable, whole, within
from tenure.core.documents import Document
from tenure.core.errors import InvalidInput
from tenure.core.policy import Policy
from tenure.core.text import UNSTORABLE


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
    """A job that now belongs to the worker that claimed it, for as long as its lease holds."""

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


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far an attempt has come, as its handler says: a fraction from 0 to 1 and a few words."""

    fraction: float
    message: str = ""

    def __post_init__(self) -> None:
        within("fraction", self.fraction, 0.0, 1.0)
        if len(self.message) > 1000 or UNSTORABLE.search(self.message):
            raise InvalidInput("message", "is not at most 1,000 characters, NUL and lone surrogates apart")


class Pulse(Struct, frozen=True, kw_only=True):
    """A worker's sign of life: the leases it still works under, and what has come of them so far.

    `ready` says whether it claims jobs and can start them.
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
    """The answer to a pulse: leases that hold, leases that are gone, and those among the held to stop.

    `drain` says that an operator wants the worker to claim no more.
    """

    kept: frozenset[Lease]
    lost: frozenset[Lease]
    cancelling: frozenset[Lease]
    drain: bool = False
