"""A job: the request for it, its state, and its history.

All values are frozen. A value that comes from outside checks itself when it is made, so that it can be
stored; what is read back from a store is not checked again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Progress
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.values.bounds import (
    CALENDAR,
    HIGHEST_PRIORITY,
    HORIZON,
    MOST_LIMITS,
    MOST_TAGS,
    distinct,
    named,
    printable,
    whole,
    within,
)
from tenure.core.values.documents import EMPTY, Document
from tenure.core.values.failure import Failure
from tenure.core.values.leaves import AN_AWARE_ONE, is_naive

USUAL_NAMESPACE = "default"
"""The namespace of jobs whose caller names none."""


class NewJob(Struct, frozen=True, kw_only=True):
    """A job to be recorded.

    `key` makes creation idempotent within (namespace, scope). The caller may choose the `id`; otherwise the
    store does. `run_at` and `delay` exclude each other; `hold` records without accepting. The job runs
    only while every one of its `limits` has room; `tags` are for finding it again. `creator` is the access
    key of the request, if there was one.
    """

    definition: str
    version: int = 1
    params: Document = EMPTY
    queue: str = "default"
    priority: int = 0
    namespace: str = USUAL_NAMESPACE
    scope: str = ""
    key: str | None = None
    run_at: datetime | None = None
    delay: timedelta | None = None
    hold: bool = False
    policy: Policy = Policy()
    limits: tuple[Limit, ...] = ()
    tags: tuple[str, ...] = ()
    id: UUID | None = None
    parent: UUID | None = None
    replay_of: UUID | None = None
    traceparent: str | None = None
    creator: str | None = None

    def __post_init__(self) -> None:
        named("definition", self.definition)
        named("queue", self.queue)
        named("namespace", self.namespace)
        whole("version", self.version, 1, 2**31 - 1)
        whole("priority", self.priority, -HIGHEST_PRIORITY, HIGHEST_PRIORITY)
        printable("scope", self.scope)
        if self.key is not None:
            printable("key", self.key, least=1)
        if self.traceparent is not None:
            printable("traceparent", self.traceparent)
        if self.creator is not None:
            printable("creator", self.creator, least=1)
        if self.limits != ():
            distinct("limits", [(limit.name, limit.key) for limit in self.limits], MOST_LIMITS)
            for limit in self.limits:
                printable("limit.key", limit.key)
        if self.tags != ():
            distinct("tags", self.tags, MOST_TAGS)
            for tag in self.tags:
                named("tags", tag)
        check_time(self.run_at, self.delay)

    @property
    def namespaced_limits(self) -> tuple[Limit, ...]:
        """Its limits as stores keep them: each namespace has keys of its own."""
        if not self.limits or self.namespace == USUAL_NAMESPACE:
            return self.limits
        return tuple(limit.in_namespace(self.namespace) for limit in self.limits)


def check_time(run_at: datetime | None, delay: timedelta | None) -> None:
    """Refuse a time, or a delay, that a job cannot be given, and the two together."""
    if run_at is not None and delay is not None:
        raise InvalidInput("delay", "cannot be combined with run_at", "give one of the two")
    if is_naive(run_at):
        raise InvalidInput("run_at", "has no time zone", AN_AWARE_ONE)
    if run_at is not None:
        within("run_at", run_at, *CALENDAR)
    if delay is not None:
        within("delay", delay, timedelta(0), HORIZON)


def following(job: NewJob, traceparent: str) -> NewJob:
    """The job with this traceparent, unless it has one."""
    return job if job.traceparent is not None else replace(job, traceparent=traceparent)


class Enqueued(Struct, frozen=True):
    """The answer to one `NewJob`: its job, whether this call made it, and whether it matches the request.

    If the key is already taken, the answer is the first job (`fresh` is false); `matches` then says whether
    its definition, version and params are those of this request.
    """

    id: UUID
    state: State
    fresh: bool
    matches: bool = True


class KeysTaken(Struct, frozen=True):
    """The answer if nothing was recorded: by place in the call, the job that already has the key or id.

    None stands for another job of the same call.
    """

    by: Mapping[int, UUID | None]


class LapsedAttempt(Struct, frozen=True):
    """An attempt whose lease ran out: its definition, worker, number, and how long it was held."""

    definition: str
    version: int
    queue: str
    worker: str
    attempt: int
    max_attempts: int
    held_for: timedelta
    traceparent: str | None = None


class StepTaken(Struct, frozen=True):
    """A step that was taken; `lapsed` is the attempt that it ended, if its lease had run out."""

    job: UUID
    source: State
    target: State
    lapsed: LapsedAttempt | None = None


class JobStanding(Struct, frozen=True):
    """The state of a job after a request, and whether this request moved it.

    A job that is aside, because the database refuses to move it, is moved by `put_back` only. One that is
    given up is still `retrying`, until the clock has ended it.
    """

    job: UUID
    state: State
    moved: bool
    is_aside: bool = False
    is_given_up: bool = False


class Event(Struct, frozen=True, kw_only=True):
    """An event of a job. `n` counts a job's events 1, 2, 3 … without gaps.

    Most events are steps. A note does not move the job: source and target are the same, and `payload` says
    more. It is a handler's own, or tells that a hook failed or that the job was given another time.
    """

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
    payload: Document | None = None


class Job(Struct, frozen=True, kw_only=True):
    """A job as the store has it: the request, its state, its owner, how it ended."""

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
    limits: tuple[Limit, ...]
    tags: tuple[str, ...]
    parent: UUID | None
    replay_of: UUID | None
    traceparent: str | None
    creator: str | None
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
    aside_at: datetime | None = None
    """Since when it is aside, because the database refuses to move it."""

    @property
    def concurrency_keys(self) -> tuple[str, ...]:
        """The keys under which its definition's own limit counts it."""
        return tuple(limit.key for limit in self.limits if limit.name == self.definition and limit.key)
