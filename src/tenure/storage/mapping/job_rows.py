"""Between jobs, their events and attempts and the columns that both stores have in common."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import lru_cache

import msgspec

from tenure.core.model.child_keys import CHILDREN
from tenure.core.model.job import Event, Job, NewJob
from tenure.core.model.lease import Progress
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.values.documents import NULL, canonical_hash
from tenure.core.values.failure import Failure
from tenure.core.values.fingerprint import fingerprint
from tenure.core.values.text import storable
from tenure.storage.mapping.values import Row

_encode = msgspec.json.Encoder().encode
_names = msgspec.json.Decoder(tuple[str, ...]).decode
_limits = msgspec.json.Decoder(tuple[tuple[str, str, int], ...]).decode
failure_of = msgspec.json.Decoder(Failure).decode
_progress = msgspec.json.Decoder(Progress).decode
_SAME_IN_JOB = (
    *("id", "namespace", "definition", "version", "queue", "priority", "params", "scope", "key", "parent"),
    *("replay_of", "traceparent", "creator", "created_at", "run_at", "fence", "attempt", "failures"),
    *("hand_backs", "suspensions", "due_at", "queued_at", "started_at", "finished_at", "updated_at"),
    *("cancel_requested_at", "worker", "heartbeat_at", "lease_expires_at", "aside_at"),
)
_SAME_IN_ATTEMPT = ("job", "fence", "number", "worker", "started_at", "ended_at")


def tags_of(text: str | None) -> tuple[str, ...]:
    """Tags from JSON; none without it."""
    return _names(text) if text else ()


def limits_of(text: str | None) -> tuple[Limit, ...]:
    """Limits from JSON, [name, key, size] each; none without it."""
    return tuple(sorted(Limit(*parts).without_namespace() for parts in _limits(text))) if text else ()


def binding(job: NewJob) -> bytes | None:
    """The hash of the params that a key or an id given by the caller binds; None if there is neither.

    The key of a child is made from its params, and binds them by itself.
    """
    if job.scope == CHILDREN and job.id is None:
        return None
    return canonical_hash(job.params) if job.key is not None or job.id is not None else None


def millis(duration: timedelta) -> int:
    """A duration in whole milliseconds."""
    return duration // timedelta(milliseconds=1)


def written_names(names: Sequence[str]) -> str | None:
    """Names as JSON; None without names."""
    return _encode(names).decode() if names else None


def written_limits(limits: Iterable[Limit]) -> str | None:
    """The names and keys of limits as JSON; None without limits."""
    named = [(limit.name, limit.key) for limit in limits]
    return _encode(named).decode() if named else None


class _RecordedFailure(Failure, frozen=True, omit_defaults=True, kw_only=True):
    """A stored failure: its fingerprint is computed once, here, for the statements that need it."""

    fingerprint: str


def written_failure(error: Failure) -> str:
    """A failure as JSON. The text of an exception must never keep its attempt from being settled."""
    trace = None if error.traceback is None else storable(error.traceback)
    kept = _RecordedFailure(
        storable(error.kind), storable(error.message), trace, error.source, fingerprint=fingerprint(error)
    )
    return _encode(kept).decode()


@lru_cache(maxsize=1024)
def policy(
    max_attempts: int,
    on_lost: str,
    timeout_ms: int,
    grace_ms: int,
    base_ms: int,
    cap_ms: int,
    retry_on: str | None,
    fatal_on: str | None,
) -> Policy:
    """A policy from its columns; equal ones are one object, since most jobs share a few of them."""
    return Policy(
        max_attempts=max_attempts,
        on_lost=OnLost(on_lost),
        timeout=timedelta(milliseconds=timeout_ms),
        grace=timedelta(milliseconds=grace_ms),
        retry=RetryPolicy(
            base=timedelta(milliseconds=base_ms),
            cap=timedelta(milliseconds=cap_ms),
            retry_on=_names(retry_on) if retry_on else (),
            fatal_on=_names(fatal_on) if fatal_on else (),
        ),
    )


def policy_of(row: Row) -> Policy:
    """The policy copied with a job."""
    return policy(
        row["max_attempts"],
        row["on_lost"],
        row["timeout_ms"],
        row["grace_ms"],
        row["backoff_base_ms"],
        row["backoff_cap_ms"],
        row["retry_on"],
        row["fatal_on"],
    )


def job_from(row: Row) -> Job:
    """A row of `get`. A success without a stored result returned null."""
    state = State(row["state"])
    return Job(
        **{name: row[name] for name in _SAME_IN_JOB},
        policy=policy_of(row),
        limits=limits_of(row["limits"]),
        tags=tags_of(row["tags"]),
        state=state,
        events=row["n"],
        progress=_progress(row["progress"]) if row["progress"] else None,
        result=row["result"] or (NULL if state is State.SUCCEEDED else None),
        error=failure_of(row["error"]) if row["error"] else None,
    )


def event_from(row: Row) -> Event:
    """A row of `events`."""
    source = row["source"]
    return Event(**{**row, "source": State(source) if source else None, "target": State(row["target"])})


def attempt_from(row: Row) -> Attempt:
    """A row of `attempts`."""
    ending, error = row["ending"], row["error"]
    return Attempt(
        **{name: row[name] for name in _SAME_IN_ATTEMPT},
        ending=Ending(ending) if ending else None,
        error=failure_of(error) if error else None,
        usage=usage_from(row) if row["cpu_ms"] is not None else None,
    )


def usage_from(row: Row) -> Usage:
    """What an attempt used, as its owner reported."""
    return Usage(
        exit_code=row["exit_code"],
        signal=row["signal"],
        cpu=timedelta(milliseconds=row["cpu_ms"]),
        peak_memory=row["peak_bytes"],
    )
