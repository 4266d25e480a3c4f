"""The values that travel between the layers: what is asked, what is owned, how it ended, what is on record.

All are frozen. A value checks itself when it is made, so one that exists can be stored; what is read back
from a store is not checked again.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NewType, TypeVar
from uuid import UUID

from msgspec import Struct
from msgspec.structs import force_setattr

from tenure.core.errors import InvalidInput
from tenure.core.states import State
from tenure.core.text import UNSTORABLE

Document = NewType("Document", str)
"""JSON text that has passed the strict check of `tenure.core.documents`."""

EMPTY = Document("{}")
NULL = Document("null")

HORIZON = timedelta(days=3653)
CALENDAR = (datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC))
"""The earliest and the latest time that a job may be given."""

LARGEST_BATCH = 10_000
MOST_HAND_BACKS = 20
MOST_SUSPENSIONS = 10_000

_Measure = TypeVar("_Measure", int, float, timedelta, datetime)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")


def _named(field: str, value: str) -> None:
    if not _NAME.fullmatch(value):
        raise InvalidInput(
            field, "is not a name", "use 1 to 120 letters, digits and . _ : - , a letter or digit first"
        )


def _within(field: str, value: _Measure, least: _Measure, most: _Measure) -> None:
    if not least <= value <= most:
        raise InvalidInput(field, f"is {value}", f"give a value from {least} to {most}")


class OnLost(StrEnum):
    """What becomes of a job whose worker was lost: run again (at least once), or never (at most once)."""

    RETRY = "retry"
    BURY = "bury"


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """When to try again: exponential backoff, and which exceptions (by qualified name) say otherwise."""

    base: timedelta = timedelta(seconds=1)
    cap: timedelta = timedelta(seconds=300)
    retry_on: tuple[str, ...] = ()
    fatal_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _within("retry.base", self.base, timedelta(0), timedelta(days=7))
        _within("retry.cap", self.cap, self.base, timedelta(days=7))


class Policy(Struct, frozen=True, kw_only=True):
    """What a job was promised when it was accepted; copied with it, so that a redeploy changes nothing."""

    max_attempts: int = 3
    timeout: timedelta = timedelta(hours=1)
    grace: timedelta = timedelta(seconds=10)
    on_lost: OnLost = OnLost.RETRY
    retry: RetryPolicy = RetryPolicy()

    def __post_init__(self) -> None:
        if self.on_lost == OnLost.BURY:
            force_setattr(self, "max_attempts", 1)
        _within("max_attempts", self.max_attempts, 1, 100)
        _within("timeout", self.timeout, timedelta(seconds=1), timedelta(days=7))
        _within("grace", self.grace, timedelta(0), timedelta(days=1))


class NewJob(Struct, frozen=True, kw_only=True):
    """A job as it is asked for.

    `key` makes creation idempotent within (namespace, scope). `id` may be made by the caller; otherwise the
    store makes it. `run_at` and `delay` exclude each other; `hold` records without accepting.
    """

    definition: str
    version: int = 1
    params: Document = EMPTY
    queue: str = "default"
    priority: int = 0
    namespace: str = "default"
    scope: str = ""
    key: str | None = None
    run_at: datetime | None = None
    delay: timedelta | None = None
    hold: bool = False
    policy: Policy = Policy()
    id: UUID | None = None
    parent: UUID | None = None
    replay_of: UUID | None = None
    traceparent: str | None = None

    def __post_init__(self) -> None:
        for field in ("definition", "queue", "namespace"):
            _named(field, getattr(self, field))
        _within("version", self.version, 1, 2**31 - 1)
        _within("priority", self.priority, -100, 100)
        if self.key is not None and not (0 < len(self.key) <= 255 and self.key.isprintable()):
            raise InvalidInput("key", "is not 1 to 255 printable characters")
        if len(self.scope) > 255 or not self.scope.isprintable():
            raise InvalidInput("scope", "is not at most 255 printable characters")
        if self.run_at is not None and self.delay is not None:
            raise InvalidInput("delay", "cannot stand beside run_at", "give one of the two")
        if self.run_at is not None and self.run_at.utcoffset() is None:
            raise InvalidInput("run_at", "has no time zone", "give an aware datetime")
        if self.run_at is not None:
            _within("run_at", self.run_at, *CALENDAR)
        if self.delay is not None:
            _within("delay", self.delay, timedelta(0), HORIZON)
        if self.traceparent is not None and not (
            len(self.traceparent) <= 255 and self.traceparent.isprintable()
        ):
            raise InvalidInput("traceparent", "is not at most 255 printable characters")


class Enqueued(Struct, frozen=True):
    """The answer to one `NewJob`: its job, whether this call made it, and whether it is what was asked for.

    A key that is already taken answers with the first job (`fresh` is false); `matches` then says whether
    definition, version and params are those of this request.
    """

    id: UUID
    state: State
    fresh: bool
    matches: bool = True


class Line(Struct, frozen=True, order=True):
    """Where queued jobs of one kind stand: the unit a worker serves and an operator pauses."""

    queue: str
    definition: str
    version: int = 1


class Lease(Struct, frozen=True, order=True):
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
        if not (0 < len(self.worker) <= 255 and self.worker.isprintable()):
            raise InvalidInput("worker", "is not 1 to 255 printable characters")
        _within("limit", self.limit, 0, LARGEST_BATCH)
        _within("lease_for", self.lease_for, timedelta(milliseconds=1), timedelta(days=1))


class Claimed(Struct, frozen=True, kw_only=True):
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


class Failure(Struct, frozen=True, omit_defaults=True):
    """What went wrong in an attempt."""

    kind: str
    message: str
    traceback: str | None = None


class Succeeded(Struct, frozen=True):
    """The handler returned; `result` is its answer."""

    result: Document = NULL


class Recoverable(Struct, frozen=True):
    """The attempt failed and may be tried again `after` a while, if attempts are left."""

    error: Failure
    after: timedelta

    def __post_init__(self) -> None:
        _within("after", self.after, timedelta(0), HORIZON)


class Unrecoverable(Struct, frozen=True):
    """The attempt failed and trying again is pointless."""

    error: Failure


class Stopped(Struct, frozen=True):
    """The owner stopped the attempt because the job was asked to stop."""


class Suspended(Struct, frozen=True):
    """The handler gave its slot back and wants to be called again `after` a while."""

    after: timedelta

    def __post_init__(self) -> None:
        _within("after", self.after, timedelta(0), HORIZON)


Outcome = Succeeded | Recoverable | Unrecoverable | Stopped | Suspended


class Report(Struct, frozen=True):
    """What an owner says of the attempt that its lease stands for."""

    lease: Lease
    outcome: Outcome


class Settled(Struct, frozen=True):
    """The store's answer to reports: the state each accepted one led to, and the leases that were lost."""

    accepted: Mapping[Lease, State]
    lost: Sequence[Lease]


class Round(Struct, frozen=True):
    """One turn of a worker: what became of its reports, and what it owns now."""

    settled: Settled
    claimed: Sequence[Claimed]


class Progress(Struct, frozen=True, omit_defaults=True):
    """How far an attempt has come, as its handler says: a fraction from 0 to 1 and a few words."""

    fraction: float
    message: str = ""

    def __post_init__(self) -> None:
        _within("fraction", self.fraction, 0.0, 1.0)
        if len(self.message) > 1000 or UNSTORABLE.search(self.message):
            raise InvalidInput("message", "is not at most 1,000 characters, NUL and lone surrogates apart")


class Pulse(Struct, frozen=True, kw_only=True):
    """A worker's sign of life: the leases it still works under, and what has come of them so far."""

    worker: str
    leases: Sequence[Lease]
    lease_for: timedelta = timedelta(seconds=30)
    progress: Mapping[Lease, Progress] = {}


class Beat(Struct, frozen=True):
    """The answer to a pulse: leases that hold, leases that are gone, and those among the held to stop."""

    kept: frozenset[Lease]
    lost: frozenset[Lease]
    cancelling: frozenset[Lease]


class Moved(Struct, frozen=True):
    """A step that was taken."""

    job: UUID
    source: State
    target: State


class Standing(Struct, frozen=True):
    """Where a job stands after a request, and whether this request moved it."""

    job: UUID
    state: State
    moved: bool


class Event(Struct, frozen=True, kw_only=True):
    """A step on record. `n` counts a job's events 1, 2, 3 … without gaps."""

    job: UUID
    n: int
    type: str
    source: State | None
    target: State
    attempt: int
    fence: int
    at: datetime
    actor: str
    reason: str | None = None


class Ending(StrEnum):
    """How an attempt ended, in the words of its record."""

    SUCCEEDED = "succeeded"
    RECOVERABLE = "recoverable"
    UNRECOVERABLE = "unrecoverable"
    STOPPED = "stopped"
    SUSPENDED = "suspended"
    HANDED_BACK = "handed_back"
    KILLED = "killed"
    LOST = "lost"


class Attempt(Struct, frozen=True, kw_only=True):
    """One start of a job. `ended_at` and `ending` are empty while it runs."""

    job: UUID
    fence: int
    number: int
    worker: str
    started_at: datetime
    ended_at: datetime | None = None
    ending: Ending | None = None
    error: Failure | None = None


class Job(Struct, frozen=True, kw_only=True):
    """A job as the store has it: what was asked, where it stands, who owns it, how it ended."""

    id: UUID
    namespace: str
    definition: str
    version: int
    queue: str
    priority: int
    params: Document
    scope: str
    key: str | None
    policy: Policy
    parent: UUID | None
    replay_of: UUID | None
    traceparent: str | None
    created_at: datetime
    run_at: datetime | None

    state: State
    fence: int
    attempt: int
    failures: int
    hand_backs: int
    suspensions: int
    events: int
    due_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    updated_at: datetime
    cancel_requested_at: datetime | None
    progress: Progress | None

    worker: str | None
    heartbeat_at: datetime | None
    lease_expires_at: datetime | None
    result: Document | None
    error: Failure | None
