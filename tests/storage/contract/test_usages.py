"""`usages`: what the last attempts of jobs used."""

from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.outcome import Recoverable, Report, Succeeded
from tenure.core.model.trail import Usage
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, seconds, settle, succeeded


async def test_the_last_attempt_tells_what_a_job_used(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    [first] = await claim(store)
    failed = Recoverable(Failure("OSError", "no"), seconds(1))
    await settle(store, [Report(first.lease, failed, Usage(exit_code=1, cpu=seconds(9), peak_memory=900))])
    await clock.advance(seconds(2))
    await store.promote(10)
    [second] = await claim(store)
    used = Usage(exit_code=0, cpu=seconds(0.31), peak_memory=75 * 2**20)
    await settle(store, [Report(second.lease, Succeeded(), used)])
    silent = await enqueue_one(store)
    await settle(store, [succeeded(one) for one in await claim(store)])
    waiting = await enqueue_one(store)
    assert await store.usages([job, silent, waiting, uuid4()]) == {job: used}
    assert await store.usages([]) == {}


async def test_no_more_than_a_page_is_asked_for(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.usages([UUID(int=n) for n in range(201)])
