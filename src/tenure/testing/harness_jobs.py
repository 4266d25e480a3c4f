"""Jobs as a test sees them: values with their params and results as Python objects."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.core.model.child_keys import given_key
from tenure.core.model.job import Job
from tenure.core.model.lease import Progress
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.values.documents import read
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store

_A_PAGE = 200


class HarnessJob(Struct, frozen=True, kw_only=True):
    """One job at the moment of the question."""

    id: UUID
    definition: str
    version: int
    state: State
    params: Any
    result: Any
    """What the handler returned; None until it has succeeded."""
    error: Failure | None
    """Why it failed for good, or for now: `kind`, `message` and `traceback`."""
    attempt: int
    queue: str
    priority: int
    run_at: datetime | None
    """When it was to run first, if it was enqueued for later."""
    due_at: datetime | None
    """When it will be ready, if it waits."""
    tags: tuple[str, ...]
    idempotency_key: str | None
    parent: UUID | None
    progress: Progress | None
    created_at: datetime

    def __str__(self) -> str:
        """The job in a line, for messages."""
        later = f", due {self.due_at:%Y-%m-%d %H:%M:%S}" if self.due_at is not None else ""
        why = f", {self.error.kind}: {self.error.message}" if self.error is not None else ""
        return (
            f"{self.definition}@{self.version} in queue {self.queue}: {self.state}{later}{why}, "
            f"params {self.params!r:.500}"
        )

    def __repr__(self) -> str:
        return f"<job {self}, attempt {self.attempt}, result {self.result!r:.500}>"


async def jobs_of(store: Store, which: Filter) -> list[HarnessJob]:
    """The jobs that match, in the order of their creation."""
    return [await _seen(store, job) async for job in _found(store, which)]


async def _found(store: Store, which: Filter) -> AsyncIterator[Job]:
    after: UUID | None = None
    while True:
        page = await store.page(which, after=after, newest_first=False, limit=_A_PAGE)
        for listed in page.jobs:
            if (job := await store.get(listed.id)) is not None:
                yield job
        if page.next is None:
            return
        after = page.next


async def _seen(store: Store, job: Job) -> HarnessJob:
    return HarnessJob(
        id=job.id,
        definition=job.definition,
        version=job.version,
        state=job.state,
        params=read(job.params),
        result=None if job.result is None else read(job.result),
        error=job.error if job.error is not None else await _last_error(store, job),
        attempt=job.attempt,
        queue=job.queue,
        priority=job.priority,
        run_at=job.run_at,
        due_at=job.due_at,
        tags=job.tags,
        idempotency_key=given_key(job),
        parent=job.parent,
        progress=job.progress,
        created_at=job.created_at,
    )


async def _last_error(store: Store, job: Job) -> Failure | None:
    """The error of the last attempt of a job that is to be tried again."""
    if job.state not in {State.RETRYING, State.QUEUED} or not job.attempt:
        return None
    attempts = await store.attempts(job.id)
    return attempts[-1].error if attempts else None
