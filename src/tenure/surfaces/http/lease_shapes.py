"""The bodies of the worker protocol."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.core.states import State
from tenure.engine.leasing import Stop, Taken
from tenure.surfaces.http.shapes import Key, Name, Seconds, Version

MOST_LEASES = 100
"""How many jobs one request may claim."""

MOST_LINES = 1024
"""How many log lines one attempt may have, and how many characters each of them."""

_Lease = Annotated[float, Meta(ge=1, le=86_400)]
Token = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,17}\.[A-Za-z0-9][A-Za-z0-9._:-]{0,119}$")]


class ServedDefinition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A definition that a worker can run."""

    definition_key: Name
    definition_version: Version = 1


class LeaseOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Who asks for jobs, of which kinds, how many, and how long a lease lasts.

    Definitions are served in their own queue or, where queues are named, in those; queues alone stand for
    every definition of theirs.
    """

    worker_id: Name
    definitions: Annotated[tuple[ServedDefinition, ...], Meta(max_length=100)] = ()
    queues: Annotated[tuple[Name, ...], Meta(max_length=10)] = ()
    limit: Annotated[int, Meta(ge=1, le=MOST_LEASES)] = 1
    lease_seconds: _Lease = 30


class LeaseItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job that is the worker's now: `token` is the proof, to be sent with every word about it.

    It is the worker's until `leaseExpiresAt`, `leaseSeconds` after the claim, unless the lease is prolonged,
    which it never is beyond `graceSeconds` after `deadline`.
    """

    job_id: UUID
    token: str
    definition_key: str
    definition_version: int
    queue: str
    namespace: str
    params: Raw
    attempt: int
    max_attempts: int
    started_at: datetime
    timeout_seconds: float
    grace_seconds: float
    deadline: datetime
    lease_expires_at: datetime
    lease_seconds: float
    traceparent: str | None


class Leases(Struct, frozen=True, kw_only=True, rename="camel"):
    """The jobs that were claimed, none when none stood in line; with `drain` no more are to be asked for.

    They were claimed `waitedSeconds` after the request came in, or later.
    """

    leases: Sequence[LeaseItem]
    waited_seconds: float
    drain: bool


class ProgressBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far an attempt has come: a fraction and a few words."""

    fraction: Annotated[float, Meta(ge=0, le=1)]
    message: Annotated[str, Meta(max_length=1000)] = ""


class LogBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of an attempt's log; one whose number is there already is left as it is."""

    n: Annotated[float, Meta(ge=1, le=MOST_LINES, multiple_of=1)]
    text: Annotated[str, Meta(max_length=MOST_LINES)]
    level: Literal["debug", "info", "warning", "error", "stdout", "stderr"] = "info"


class HeartbeatBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """That the attempt goes on, and what has come of it so far."""

    token: Token
    lease_seconds: _Lease = 30
    progress: ProgressBody | UnsetType = UNSET
    logs: Annotated[tuple[LogBody, ...], Meta(max_length=MOST_LINES)] = ()


class KeptLease(Struct, frozen=True, kw_only=True, rename="camel"):
    """Until when the job is the worker's now, and for how many seconds; with `stop` it is to end, and why.

    The seconds may be fewer than were asked for, and are for the worker's own clock.
    """

    job_id: UUID
    lease_expires_at: datetime
    lease_seconds: float
    stop: Stop | None
    drain: bool


class CompleteBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the attempt came to."""

    token: Token
    result: Raw | UnsetType = UNSET


class ErrorBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What went wrong. The definition's lists know it by its `type`.

    Of a long `message` the beginning is kept, of a long `traceback` the end.
    """

    type: Key
    message: str = ""
    traceback: str | None = None


class FailBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What went wrong, and whether to try again; what is left out is as the job's definition says."""

    token: Token
    error: ErrorBody
    retryable: bool | UnsetType = UNSET
    retry_after_seconds: Seconds | UnsetType = UNSET


class ReleaseBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """That the job is given back; `started` unless nothing of it was done yet."""

    token: Token
    started: bool = True


class AttemptEnded(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the job stands."""

    job_id: UUID
    status: State


class Dismissed(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that has ended, by the name that it claimed with."""

    worker_id: str


def lease_item(taken: Taken, token: str) -> LeaseItem:
    """A job as the worker that has claimed it is told."""
    claimed, policy = taken.claimed, taken.claimed.policy
    return LeaseItem(
        job_id=claimed.lease.job,
        token=token,
        definition_key=claimed.definition,
        definition_version=claimed.version,
        queue=claimed.queue,
        namespace=claimed.namespace,
        params=Raw(claimed.params),
        attempt=claimed.attempt,
        max_attempts=policy.max_attempts,
        started_at=claimed.started_at,
        timeout_seconds=policy.timeout.total_seconds(),
        grace_seconds=policy.grace.total_seconds(),
        deadline=taken.deadline,
        lease_expires_at=taken.expires_at,
        lease_seconds=taken.lease_for.total_seconds(),
        traceparent=claimed.traceparent,
    )
