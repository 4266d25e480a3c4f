"""Between core values and SQLite's rows: times are microseconds since 1970, ids are text."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from tenure.core.model.durable import Suspension
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed
from tenure.core.model.trail import LogLine
from tenure.core.values.text import storable
from tenure.storage.mapping.job_rows import binding, millis, written_names
from tenure.storage.mapping.trails import TrailRows, written_notes
from tenure.storage.mapping.turn_rows import CLAIM_COLUMNS, ReportRow, claimed_from, line, usage_columns

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_places = msgspec.json.Decoder(list[int]).decode
_IDS = frozenset({"id", "job", "parent", "replay_of", "replay", "next", "webhook"})


def micros(moment: datetime) -> int:
    """A time as SQLite keeps it."""
    return (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=1024)
def moment(at: int) -> datetime:
    """A time as the rest of the code knows it."""
    return _EPOCH + timedelta(microseconds=at)


def duration(length: timedelta | None) -> int | None:
    """A duration in microseconds, as SQLite adds it to a time."""
    return None if length is None else length // _MICROSECOND


def left_alone(entries: Iterable[tuple[str, str, datetime, int]]) -> str:
    """Schedules to leave alone, as the statements take them: JSON of name, birth and revision of each."""
    each = [(namespace, name, micros(made_at), revision) for namespace, name, made_at, revision in entries]
    return msgspec.json.encode(each).decode()


def left_webhooks(entries: Iterable[tuple[UUID, str]]) -> str:
    """Webhooks to leave alone, as the statements take them: JSON of id and what is written of each."""
    return msgspec.json.encode([(str(webhook), spec) for webhook, spec in entries]).decode()


def native(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one statement with ids and times in Python's types; they are changed in place."""
    for name, convert in _conversions(tuple(found[0])) if found else ():
        for row in found:
            if (value := row[name]) is not None:
                row[name] = convert(value)
    return found


@cache
def _conversions(names: tuple[str, ...]) -> list[tuple[str, Callable[[Any], Any]]]:
    """The columns to convert and how, by their names."""
    ids = [(name, UUID) for name in names if name in _IDS]
    times = [(name, moment) for name in names if name == "at" or name.endswith("_at")]
    return [*ids, *times]


class NewJobRow(NamedTuple):
    """A new job, its id, and its columns in the scratch table, which numbers it."""

    job: NewJob
    id: UUID
    columns: tuple[Any, ...]


def new_job_rows(jobs: Sequence[NewJob], ids: Sequence[UUID]) -> list[NewJobRow]:
    """New jobs as they are written."""
    return [NewJobRow(job, job_id, _columns(job, job_id)) for job, job_id in zip(jobs, ids, strict=True)]


def _columns(job: NewJob, job_id: UUID) -> tuple[Any, ...]:
    policy = job.policy
    return (
        None,
        str(job_id),
        job.queue,
        job.definition,
        job.version,
        job.priority,
        job.namespace,
        job.scope,
        job.key,
        job.params,
        binding(job),
        None if job.run_at is None else micros(job.run_at),
        duration(job.delay),
        job.hold,
        policy.max_attempts,
        str(policy.on_lost),
        millis(policy.timeout),
        millis(policy.grace),
        millis(policy.retry.base),
        millis(policy.retry.cap),
        written_names(policy.retry.retry_on),
        written_names(policy.retry.fatal_on),
        None if job.parent is None else str(job.parent),
        None if job.replay_of is None else str(job.replay_of),
        job.traceparent,
        written_names(job.tags),
        msgspec.json.encode(job.namespaced_limits).decode(),
        job.creator,
    )


def reports(given: Sequence[ReportRow]) -> list[tuple[Any, ...]]:
    """Reports on attempts, in the columns of the scratch table `given`."""
    jobs = msgspec.to_builtins([report.lease.job for report in given])
    return [
        (
            *(place, job, one.lease.fence, one.ending.value, one.result, one.error, duration(one.after)),
            *usage_columns(one.usage),
        )
        for place, (job, one) in enumerate(zip(jobs, given, strict=True), 1)
    ]


def trails(given: Sequence[TrailRows]) -> list[tuple[Any, ...]]:
    """Trails of attempts, in the columns of the scratch table `given`; lines are JSON arrays."""
    return [
        (str(one.lease.job), one.lease.fence, written_lines(one.lines.values()), written_notes(one.notes))
        for one in given
    ]


def suspensions(given: Sequence[Suspension]) -> list[tuple[Any, ...]]:
    """Suspensions, in the columns of the scratch table `suspending`."""
    return [
        (
            *(str(one.lease.job), one.lease.fence, one.wait.kind.value, one.wait.step, one.wait.signal),
            duration(one.wait.timeout),
            *usage_columns(one.usage),
        )
        for one in given
    ]


def written_lines(lines: Iterable[LogLine]) -> str:
    """Log lines as a JSON array of arrays."""
    columns = [(line.n, micros(line.at), line.level, storable(line.text), line.fields) for line in lines]
    return msgspec.json.encode(columns).decode()


def settled_groups(answer: Iterable[tuple[Any, ...]]) -> list[tuple[str, list[int]]]:
    """The rows of a turn that say which reports led to a state."""
    return [(row[-2], _places(row[-1])) for row in answer if row[0] is None]


def claimed(answer: Iterable[tuple[Any, ...]]) -> list[Claimed]:
    """The rows of a turn that are claimed jobs."""
    taken = [row for row in answer if row[0] is not None]
    jobs = msgspec.convert([row[0] for row in taken], list[UUID])
    return [_claimed(job, row) for job, row in zip(jobs, taken, strict=True)]


def _claimed(job: UUID, row: tuple[Any, ...]) -> Claimed:
    _, fence, attempt, queued_at, started_at, *rest = row[:CLAIM_COLUMNS]
    its_line = line(*row[CLAIM_COLUMNS : CLAIM_COLUMNS + 3])
    return claimed_from(its_line, job, fence, attempt, moment(queued_at), moment(started_at), *rest)
