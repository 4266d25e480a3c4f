"""Jobs and what belongs to them as operators see them: the objects of the control API, in camelCase.

Every surface that shows JSON encodes these. Documents and texts that may hold secrets are redacted.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tenure.api.durable_shapes import EffectItem, WaitItem, effect_item, wait_item
from tenure.api.redaction import USUAL, Redaction
from tenure.core.model.child_keys import given_key
from tenure.core.model.durable import ProgressSummary
from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Line, Progress
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.states import State
from tenure.core.model.trail import LogLine
from tenure.core.reports.operations import LedBy, WorkerStatus
from tenure.core.reports.reading import Listed, Page
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.core.values.urls import masked, masked_in


class Accepted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a request that changes a job: its id, and its status now."""

    job_id: UUID
    status: State


class JobItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A job in a list."""

    job_id: UUID
    namespace: str
    definition_key: str
    definition_version: int
    status: State
    attempts: int
    max_attempts: int
    priority: int
    queue: str
    tags: tuple[str, ...]
    idempotency_key: str | None
    parent_id: UUID | None
    replay_of: UUID | None
    created_at: datetime
    updated_at: datetime
    scheduled_at: datetime | None
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    aside_since: datetime | None
    """Since when the database refuses to move it; it goes on once it is mended and put back."""
    status_word: str | UnsetType | None = UNSET
    """Its status in the dialect that the caller asked for."""


class JobDetail(JobItem, frozen=True, kw_only=True, rename="camel"):
    """One job, with its documents, its worker and its progress.

    `keptSteps` is how many steps it has kept, `waitingFor` what it is suspended for. These and
    `effectsInDoubt` are left out where only changes of the job are told.
    """

    params: Raw
    result: Raw | None
    progress: Progress | None
    error_summary: str | None
    heartbeat_at: datetime | None
    lease_expires_at: datetime | None
    worker_id: str | None
    cancel_requested_at: datetime | None
    concurrency_keys: tuple[str, ...]
    created_by: str | None
    kept_steps: int | UnsetType = UNSET
    waiting_for: WaitItem | UnsetType | None = UNSET
    effects_in_doubt: Sequence[EffectItem] | UnsetType = UNSET


class JobPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of a list of jobs."""

    items: Sequence[JobItem]
    next_cursor: str | None


class AttemptItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """One attempt, and what its processes used."""

    attempt: int
    fence: int
    worker_id: str
    started_at: datetime
    ended_at: datetime | None
    duration_seconds: float | None
    outcome: Ending | None
    error: Failure | None
    exit_code: int | None
    signal: int | None
    cpu_seconds: float | None
    peak_memory_bytes: int | None


class EventItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An event in the history of a job."""

    job_id: UUID
    n: int
    type: str
    source: State | None
    target: State
    attempt: int
    fence: int
    at: datetime
    actor: str
    reason: str | None
    payload: Raw | None
    source_word: str | UnsetType | None = UNSET
    through_words: Sequence[str] | UnsetType = UNSET
    target_word: str | UnsetType | None = UNSET
    """Its source, the words between and its target, in the dialect that the caller asked for."""


class LogItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """One log line of an attempt."""

    attempt: int
    fence: int
    n: int
    at: datetime
    level: str
    text: str
    fields: Raw | None


class LedByItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """The message queue that leads a worker to jobs; since when and why it cannot receive from it, if so."""

    queue: str
    failing_since: datetime | None
    problem: str | None


WorkerStanding = Literal["ready", "unready", "draining", "silent"]


class WorkerItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker, and the queues, definitions and versions it serves."""

    worker_id: str
    host: str
    pid: int
    version: str
    status: WorkerStanding
    slots: int
    running: int
    started_at: datetime
    last_heartbeat_at: datetime
    lines: tuple[Line, ...]
    led_by: LedByItem | None = None


def worker_item(known: WorkerStatus) -> WorkerItem:
    """A worker; its status is the first of silent, draining, ready and unready that applies."""
    worker = known.worker
    statuses: dict[WorkerStanding, bool] = {
        "silent": not known.is_alive,
        "draining": known.draining,
        "ready": known.is_ready,
    }
    return WorkerItem(
        worker_id=worker.id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        status=next((status for status, applies in statuses.items() if applies), "unready"),
        slots=worker.slots,
        running=known.running,
        started_at=known.started_at,
        last_heartbeat_at=known.seen_at,
        lines=worker.lines,
        led_by=None if known.led_by is None else _led_by_item(known.led_by),
    )


def _led_by_item(known: LedBy) -> LedByItem:
    problem = None if known.problem is None else masked_in(known.problem)
    return LedByItem(queue=masked(known.queue), failing_since=known.failing_since, problem=problem)


def job_item(listed: Listed | Job) -> JobItem:
    """A job in a list."""
    return JobItem(
        job_id=listed.id,
        namespace=listed.namespace,
        definition_key=listed.definition,
        definition_version=listed.version,
        status=listed.state,
        attempts=listed.attempt,
        max_attempts=listed.policy.max_attempts if isinstance(listed, Job) else listed.max_attempts,
        priority=listed.priority,
        queue=listed.queue,
        tags=listed.tags,
        idempotency_key=given_key(listed),
        parent_id=listed.parent,
        replay_of=listed.replay_of,
        created_at=listed.created_at,
        updated_at=listed.updated_at,
        scheduled_at=listed.due_at or listed.run_at,
        queued_at=listed.queued_at,
        started_at=listed.started_at,
        finished_at=listed.finished_at,
        aside_since=listed.aside_at,
    )


def job_detail(job: Job, redaction: Redaction = USUAL, kept: ProgressSummary | None = None) -> JobDetail:
    """Everything that operators see of one job; what it has kept, if that is given."""
    return JobDetail(
        **msgspec.structs.asdict(job_item(job)),
        params=Raw(redaction.document(job.params)),
        result=_raw(job.result, redaction),
        progress=_progress(job.progress, redaction),
        error_summary=None if job.error is None else redaction.text(summary(job.error)),
        heartbeat_at=job.heartbeat_at,
        lease_expires_at=job.lease_expires_at,
        worker_id=job.worker,
        cancel_requested_at=job.cancel_requested_at,
        concurrency_keys=tuple(redaction.derived_key(key, job.params) for key in job.concurrency_keys),
        created_by=job.creator,
        kept_steps=UNSET if kept is None else kept.steps,
        waiting_for=UNSET if kept is None else None if kept.wait is None else wait_item(kept.wait),
        effects_in_doubt=UNSET if kept is None else [effect_item(effect) for effect in kept.in_doubt],
    )


def redacted(job: Job, redaction: Redaction) -> Job:
    """The job, redacted."""
    return msgspec.structs.replace(
        job,
        params=redaction.document(job.params),
        result=None if job.result is None else redaction.document(job.result),
        error=None if job.error is None else failure(job.error, redaction),
        progress=_progress(job.progress, redaction),
        limits=tuple(
            msgspec.structs.replace(limit, key=redaction.derived_key(limit.key, job.params))
            for limit in job.limits
        ),
    )


def job_page(page: Page) -> JobPage:
    """A page of a list; its cursor is the id of its last job."""
    return JobPage(
        items=[job_item(listed) for listed in page.jobs],
        next_cursor=None if page.next is None else str(page.next),
    )


def attempt_item(attempt: Attempt, redaction: Redaction = USUAL) -> AttemptItem:
    """One attempt."""
    usage = attempt.usage
    took = None if attempt.ended_at is None else attempt.ended_at - attempt.started_at
    return AttemptItem(
        attempt=attempt.number,
        fence=attempt.fence,
        worker_id=attempt.worker,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        duration_seconds=_seconds(took),
        outcome=attempt.ending,
        error=None if attempt.error is None else failure(attempt.error, redaction),
        exit_code=None if usage is None else usage.exit_code,
        signal=None if usage is None else usage.signal,
        cpu_seconds=None if usage is None else _seconds(usage.cpu),
        peak_memory_bytes=None if usage is None else usage.peak_memory,
    )


def event_item(event: Event, redaction: Redaction = USUAL) -> EventItem:
    """An event of a job."""
    return EventItem(
        job_id=event.job,
        n=event.n,
        type=event.type,
        source=event.source,
        target=event.target,
        attempt=event.attempt,
        fence=event.fence,
        at=event.at,
        actor=event.actor,
        reason=event.reason and redaction.text(event.reason),
        payload=_raw(event.payload, redaction),
    )


def log_item(attempt: int, fence: int, line: LogLine, redaction: Redaction = USUAL) -> LogItem:
    """A log line of the attempt with this number and fence."""
    return LogItem(
        attempt=attempt,
        fence=fence,
        n=line.n,
        at=line.at,
        level=line.level,
        text=redaction.text(line.text),
        fields=None if line.fields is None else Raw(redaction.fields(line.fields)),
    )


def summary(error: Failure) -> str:
    """The error in one line: its kind, and its message if it has one."""
    return f"{error.kind}: {error.message}" if error.message else error.kind


def failure(error: Failure, redaction: Redaction) -> Failure:
    """An error, redacted."""
    trace = None if error.traceback is None else redaction.text(error.traceback)
    source = tuple(
        msgspec.structs.replace(excerpt, text=tuple(redaction.text(line) for line in excerpt.text))
        for excerpt in error.source
    )
    return Failure(error.kind, redaction.text(error.message), trace, source)


def _progress(progress: Progress | None, redaction: Redaction) -> Progress | None:
    return None if progress is None else Progress(progress.fraction, redaction.text(progress.message))


def _raw(document: Document | None, redaction: Redaction) -> Raw | None:
    return None if document is None else Raw(redaction.document(document))


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
