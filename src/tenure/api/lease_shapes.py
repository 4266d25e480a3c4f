"""The bodies of the worker protocol."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tenure.api.shapes import Key, Name, Seconds, Version
from tenure.core.model.lease import RemoteClaim, Stop
from tenure.core.model.states import State

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
    """A worker's request for jobs: which definitions, how many jobs, and how long a lease lasts.

    Definitions are served in their own queue or, if queues are named, in those. Queues without definitions
    mean every definition in them. Unless `leaseSeconds` says otherwise, a lease lasts 30 seconds; that of a
    worker that sends no heartbeats lasts as long as the server's `lock_timeout_seconds`.
    """

    worker_id: Name
    definitions: Annotated[tuple[ServedDefinition, ...], Meta(max_length=100)] = ()
    queues: Annotated[tuple[Name, ...], Meta(max_length=10)] = ()
    limit: Annotated[int, Meta(ge=1, le=MOST_LEASES)] = 1
    lease_seconds: _Lease | UnsetType = UNSET
    heartbeats: bool = True


class LeaseItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job that the worker now owns: `token` proves it, and goes along with every request about the job.

    The worker owns it until `leaseExpiresAt`, `leaseSeconds` after the claim. Heartbeats prolong the lease,
    but never beyond `graceSeconds` after `deadline`.
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
    """The claimed jobs, none if none was queued; with `drain` the worker should claim no more.

    They were claimed `waitedSeconds` or more after the request arrived.
    """

    leases: Sequence[LeaseItem]
    waited_seconds: float
    drain: bool


class ProgressBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The progress of an attempt: a fraction and a short message."""

    fraction: Annotated[float, Meta(ge=0, le=1)]
    message: Annotated[str, Meta(max_length=1000)] = ""


class LogBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of an attempt's log; a line whose number exists already is ignored."""

    n: Annotated[float, Meta(ge=1, le=MOST_LINES, multiple_of=1)]
    text: Annotated[str, Meta(max_length=MOST_LINES)]
    level: Literal["debug", "info", "warning", "error", "stdout", "stderr"] = "info"


class HeartbeatBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The attempt still runs; its progress and new log lines."""

    token: Token
    lease_seconds: _Lease = 30
    progress: ProgressBody | UnsetType = UNSET
    logs: Annotated[tuple[LogBody, ...], Meta(max_length=MOST_LINES)] = ()


class KeptLease(Struct, frozen=True, kw_only=True, rename="camel"):
    """Until when the worker owns the job; `stop` is set, with the reason, if the attempt should end.

    `leaseSeconds`, for the worker's own clock, may be fewer than it asked for.
    """

    job_id: UUID
    lease_expires_at: datetime
    lease_seconds: float
    stop: Stop | None
    drain: bool


class CompleteBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a successful attempt."""

    token: Token
    result: Raw | UnsetType = UNSET


class ErrorBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The error. The lists `retryOn` and `fatalOn` of the definition match its `type`.

    Of a long `message` the beginning is kept, of a long `traceback` the end.
    """

    type: Key
    message: str = ""
    traceback: str | None = None


class FailBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The error, and whether to try again; if that is left out, the definition decides."""

    token: Token
    error: ErrorBody
    retryable: bool | UnsetType = UNSET
    retry_after_seconds: Seconds | UnsetType = UNSET


class ReleaseBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The worker gives the job back; `started` is false if its handler did not run."""

    token: Token
    started: bool = True


class AttemptEnded(Struct, frozen=True, kw_only=True, rename="camel"):
    """The job's status after the attempt."""

    job_id: UUID
    status: State


class Dismissed(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker that has ended, by the id that it claimed with."""

    worker_id: str


def lease_item(claim: RemoteClaim, token: str) -> LeaseItem:
    """A claimed job, for its worker."""
    claimed, policy = claim.claimed, claim.claimed.policy
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
        deadline=claim.deadline,
        lease_expires_at=claim.expires_at,
        lease_seconds=claim.lease_for.total_seconds(),
        traceparent=claimed.traceparent,
    )
