"""Enqueues the children of a running job, on behalf of its attempt."""

from collections.abc import Sequence

from tenure.core.errors import LeaseLost
from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lease import Lease
from tenure.engine.client.client import JobClient
from tenure.storage.contract.store import Store


async def enqueue_children(
    store: Store, client: JobClient, worker: str, lease: Lease, jobs: Sequence[NewJob]
) -> list[Enqueued]:
    """Validate and record jobs as children of the lease's job. Raises LeaseLost if the lease is gone."""
    valid = await client.validate(jobs)
    made = await store.spawn(worker, lease, valid)
    if made is None:
        raise LeaseLost("the lease of this attempt is gone: nothing was enqueued")
    await client.check_keys(valid, made)
    return made
