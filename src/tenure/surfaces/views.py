"""Jobs and what belongs to them as operators see them: the objects of the control API, in camelCase.

Every surface that shows JSON encodes these. Documents and texts that may hold secrets are shown as the
redaction leaves them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tenure.core.children import given_key
from tenure.core.documents import Document
from tenure.core.job import Event, Job
from tenure.core.lease import Line, Progress
from tenure.core.operations import WorkerStatus
from tenure.core.outcome import Attempt, Ending, Failure
from tenure.core.reading import Listed, Page
from tenure.core.states import State
from tenure.core.trail import LogLine
from tenure.surfaces.redaction import USUAL, Redaction


class Accepted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to whoever asked for something to become of a job: which one, and where it stands."""

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
    """Since when the database refuses to move it; it goes on when it was mended and is put back."""
    status_word: str | UnsetType | None = UNSET
    """Its status in the vocabulary that was asked for."""


class JobDetail(JobItem, frozen=True, kw_only=True, rename="camel"):
    """A job by itself: with its documents, its owner and how far it has come."""

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


class JobPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """Part of a list, and where it goes on."""

    items: Sequence[JobItem]
    next_cursor: str | None


class AttemptItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """One start of a job, and what its processes used."""

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
    """Something on record of a job."""

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
    """Where it came from, what lies between and where it went, in the vocabulary that was asked for."""


class LogItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line that an attempt wrote."""

    attempt: int
    fence: int
    n: int
    at: datetime
    level: str
    text: str
    fields: Raw | None


class WorkerItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """A worker, and the queues, definitions and versions it serves."""

    worker_id: str
    host: str
    pid: int
    version: str
    status: str
    slots: int
    running: int
    started_at: datetime
    last_heartbeat_at: datetime
    lines: tuple[Line, ...]


def worker_item(known: WorkerStatus) -> WorkerItem:
    """A worker; its status is silent, draining, ready or unready, the first of these that is so."""
    worker = known.worker
    states = {"silent": not known.is_alive, "draining": known.draining, "ready": known.is_ready}
    return WorkerItem(
        worker_id=worker.id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        status=next((state for state, is_so in states.items() if is_so), "unready"),
        slots=worker.slots,
        running=known.running,
        started_at=known.started_at,
        last_heartbeat_at=known.seen_at,
        lines=worker.lines,
    )


def job_item(listed: Listed | Job) -> JobItem:
    """A job as it stands in a list."""
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


def job_detail(job: Job, redaction: Redaction = USUAL) -> JobDetail:
    """Everything that operators see of one job."""
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
        concurrency_keys=tuple(redaction.taken(key, job.params) for key in job.concurrency_keys),
        created_by=job.creator,
    )


def redacted(job: Job, redaction: Redaction) -> Job:
    """The job, without what is hidden."""
    return msgspec.structs.replace(
        job,
        params=redaction.document(job.params),
        result=None if job.result is None else redaction.document(job.result),
        error=None if job.error is None else failure(job.error, redaction),
        progress=_progress(job.progress, redaction),
        limits=tuple(
            msgspec.structs.replace(limit, key=redaction.taken(limit.key, job.params)) for limit in job.limits
        ),
    )


def job_page(page: Page) -> JobPage:
    """A page of a list; its cursor is the id of the job behind which it goes on."""
    return JobPage(
        items=[job_item(listed) for listed in page.jobs],
        next_cursor=None if page.next is None else str(page.next),
    )


def attempt_item(attempt: Attempt, redaction: Redaction = USUAL) -> AttemptItem:
    """One start of a job."""
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
        fields=_raw(line.fields, redaction),
    )


def summary(error: Failure) -> str:
    """What went wrong, in one piece of text."""
    return f"{error.kind}: {error.message}" if error.message else error.kind


def failure(error: Failure, redaction: Redaction) -> Failure:
    """An error, without what is hidden."""
    trace = None if error.traceback is None else redaction.text(error.traceback)
    return Failure(error.kind, redaction.text(error.message), trace)


def _progress(progress: Progress | None, redaction: Redaction) -> Progress | None:
    return None if progress is None else Progress(progress.fraction, redaction.text(progress.message))


def _raw(document: Document | None, redaction: Redaction) -> Raw | None:
    return None if document is None else Raw(redaction.document(document))


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()
