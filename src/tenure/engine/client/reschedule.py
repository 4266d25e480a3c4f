"""Gives jobs that wait for a time another one, and says why others cannot have it."""

from datetime import datetime, timedelta
from uuid import UUID

from tenure.core.errors import JobNotFound, JobNotWaiting
from tenure.core.model.job import JobStanding
from tenure.core.model.states import State
from tenure.engine.client.aside import AsideJobs
from tenure.storage.contract.store import Store

WAITING = frozenset({State.SCHEDULED, State.RETRYING})
_REPLAY = "it has ended; replay it to run it again"
_WAYS_OUT = {
    State.CREATED: "it is held; release it first",
    State.QUEUED: "its time has come; it starts as soon as a worker has room for it",
    State.RUNNING: "it runs; wait for its end, or cancel it",
    State.CANCELLING: "it was asked to stop; replay it when it has ended",
    State.SUSPENDED: "its handler chose when it continues; wait for that, or cancel it",
    State.RETRYING: "it was given up and fails at any moment; replay it then",
}


async def reschedule(
    store: Store, job: UUID, *, run_at: datetime | None, delay: timedelta | None, actor: str
) -> JobStanding:
    """Move one job to another time. Raises JobNotFound, JobNotWaiting, JobIsAside or InvalidInput."""
    for standing in await store.reschedule([job], run_at=run_at, delay=delay, actor=actor):
        if standing.is_aside:
            raise await AsideJobs(store).refuse(job)
        if standing.state not in WAITING or standing.is_given_up:
            raise JobNotWaiting(job, standing.state, _WAYS_OUT.get(standing.state, _REPLAY))
        return standing
    raise JobNotFound(job)
