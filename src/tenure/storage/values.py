"""Between core values and the columns that both stores have in common.

A row here is a mapping by column name whose times are `datetime` and whose ids are `UUID`; each store brings
its rows into that form.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol
from uuid import UUID

import msgspec

from tenure.core.bounds import CALENDAR, LARGEST_BATCH, named, printable, within
from tenure.core.children import CHILDREN
from tenure.core.documents import NULL, canonical_hash
from tenure.core.errors import InvalidInput
from tenure.core.fingerprint import fingerprint
from tenure.core.job import Enqueued, Event, Job, Lapsed, Moved, NewJob, Standing, Taken
from tenure.core.lease import Beat, Lease, Line, Progress, Pulse
from tenure.core.limit import Limit
from tenure.core.outcome import Attempt, Ending, Failure, Settled
from tenure.core.policy import OnLost, Policy, RetryPolicy
from tenure.core.states import State
from tenure.core.text import storable
from tenure.core.trail import Usage


class Row(Protocol):
    """A row of either store."""

    def keys(self) -> Iterable[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...


_encode = msgspec.json.Encoder().encode
_names = msgspec.json.Decoder(tuple[str, ...]).decode
_limits = msgspec.json.Decoder(tuple[tuple[str, str, int], ...]).decode
failure_of = msgspec.json.Decoder(Failure).decode
_progress = msgspec.json.Decoder(Progress).decode


def check_batch(jobs: Sequence[NewJob]) -> None:
    """Refuse a batch that is too large to be one transaction."""
    if len(jobs) > LARGEST_BATCH:
        raise InvalidInput("jobs", f"are {len(jobs):,} in one call", f"give at most {LARGEST_BATCH:,}")


def check_key(key: str | None) -> None:
    """Refuse a key under which nothing could be kept."""
    if key is not None:
        printable("key", key, least=1)


def tags_of(text: str | None) -> tuple[str, ...]:
    """Tags from JSON, or none."""
    return _names(text) if text else ()


def limits_of(text: str | None) -> tuple[Limit, ...]:
    """Limits from JSON, [name, key, size] each, or none."""
    return tuple(sorted(Limit(*parts).unfenced() for parts in _limits(text))) if text else ()


def following(job: UUID | None) -> UUID:
    """The first id behind a job's, or of all."""
    return UUID(int=min(job.int + 1, 2**128 - 1)) if job else UUID(int=0)


class Refused(Exception):
    """Raised inside a transaction that is to leave nothing behind."""

    def __init__(self, taken: Taken) -> None:
        super().__init__("a key or an id belongs to something else")
        self.taken = taken


def taken(answers: Sequence[Enqueued], known: Collection[UUID]) -> Taken | None:
    """Who has the keys of jobs that were to be recorded all or not at all; None when nobody is in the way."""
    made = {answer.id for answer in answers if answer.fresh}
    by = {
        place: None if answer.id in made else answer.id
        for place, answer in enumerate(answers)
        if not answer.matches and answer.id not in known
    }
    return Taken(by) if by else None


def pausing(target: Line | str) -> dict[str, Any]:
    """The row of a pause: a line's, or with neither definition nor version a whole queue's."""
    if isinstance(target, Line):
        return {"queue": target.queue, "definition": target.definition, "version": target.version}
    named("queue", target)
    return {"queue": target, "definition": "", "version": 0}


def aware(field: str, moment: datetime | None) -> datetime | None:
    """Refuse a time without a zone."""
    if moment is not None:
        if moment.utcoffset() is None:
            raise InvalidInput(field, "has no time zone", "give an aware datetime")
        within(field, moment, *CALENDAR)
    return moment


def binding(job: NewJob) -> bytes | None:
    """What a key or an id given by the caller binds; nothing when there is neither.

    The key of a child is made of its params, and binds them by itself.
    """
    if job.scope == CHILDREN and job.id is None:
        return None
    return canonical_hash(job.params) if job.key is not None or job.id is not None else None


def millis(duration: timedelta) -> int:
    """A duration in whole milliseconds."""
    return duration // timedelta(milliseconds=1)


def written_names(names: Sequence[str]) -> str | None:
    """Names as JSON, or nothing."""
    return _encode(names).decode() if names else None


def written_limits(limits: Iterable[Limit]) -> str | None:
    """The names and keys of limits as JSON, or nothing."""
    named = [(limit.name, limit.key) for limit in limits]
    return _encode(named).decode() if named else None


class _Recorded(Failure, frozen=True, omit_defaults=True, kw_only=True):
    """A failure on record: its fingerprint is made once, here, and found by the statements that need it."""

    fingerprint: str


def written_failure(error: Failure) -> str:
    """A failure as JSON. What an exception says must never keep its attempt from being settled."""
    trace = None if error.traceback is None else storable(error.traceback)
    kept = _Recorded(storable(error.kind), storable(error.message), trace, fingerprint=fingerprint(error))
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
    """A policy from its columns; equal ones are one object, since most jobs share a few."""
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


def accepted_from(rows: Iterable[Row]) -> dict[Lease, State]:
    """The reports that counted, and where each led."""
    return {Lease(row["job"], row["fence"]): State(row["state"]) for row in rows}


def settled(given: Iterable[Lease], accepted: Mapping[Lease, State]) -> Settled:
    """The answer to reports; whoever is not among the accepted has lost its lease."""
    return Settled(accepted, [lease for lease in dict.fromkeys(given) if lease not in accepted])


def standings(ids: Iterable[UUID], rows: Iterable[Row]) -> list[Standing]:
    """One answer for each job that exists, in the order asked."""
    found = {row["job"]: _standing(row) for row in rows}
    return [found[job] for job in ids if job in found]


def _standing(row: Row) -> Standing:
    is_aside = "is_aside" in set(row.keys()) and bool(row["is_aside"])
    return Standing(row["job"], State(row["state"]), bool(row["moved"]), is_aside)


def reaped_from(rows: Iterable[Row]) -> list[Moved]:
    """The steps that were taken because leases had run out, and the attempts that ended so."""
    return [
        Moved(
            row["job"],
            State(row["source"]),
            State(row["target"]),
            Lapsed(
                definition=row["definition"],
                version=row["version"],
                queue=row["queue"],
                worker=row["worker"],
                attempt=row["attempt"],
                max_attempts=row["max_attempts"],
                held_for=row["ended_at"] - row["started_at"],
                traceparent=row["traceparent"],
            ),
        )
        for row in rows
    ]


def moved_from(rows: Iterable[Row]) -> list[Moved]:
    """The steps that a duty took."""
    return [Moved(row["job"], State(row["source"]), State(row["target"])) for row in rows]


def beat_from(held: Iterable[Lease], rows: Iterable[Row]) -> Beat:
    """The answer to a pulse: what the rows do not name is lost; the row without a job is the worker's own."""
    kept: dict[Lease, bool] = {}
    drain = False
    for row in rows:
        if row["job"] is None:
            drain = bool(row["cancelling"])
        else:
            kept[Lease(row["job"], row["fence"])] = bool(row["cancelling"])
    stop = frozenset(lease for lease, cancelling in kept.items() if cancelling)
    return Beat(kept=frozenset(kept), lost=frozenset(held) - frozenset(kept), cancelling=stop, drain=drain)


def progress_under(pulse: Pulse, lease: Lease) -> str | None:
    """What a pulse says of one lease's progress."""
    return _encode(pulse.progress[lease]).decode() if lease in pulse.progress else None


_SAME_IN_JOB = (
    *("id", "namespace", "definition", "version", "queue", "priority", "params", "scope", "key", "parent"),
    *(
        "replay_of",
        "traceparent",
        "creator",
        "created_at",
        "run_at",
        "fence",
        "attempt",
        "failures",
        "hand_backs",
    ),
    *("suspensions", "due_at", "queued_at", "started_at", "finished_at", "updated_at", "cancel_requested_at"),
    *("worker", "heartbeat_at", "lease_expires_at", "aside_at"),
)
_SAME_IN_ATTEMPT = ("job", "fence", "number", "worker", "started_at", "ended_at")


def job_from(row: Row) -> Job:
    """A row of `get`. A success without a stored body returned null."""
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
    """What an attempt used, where its owner said it."""
    return Usage(
        exit_code=row["exit_code"],
        signal=row["signal"],
        cpu=timedelta(milliseconds=row["cpu_ms"]),
        peak_memory=row["peak_bytes"],
    )
