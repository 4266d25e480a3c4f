"""`ending_in`: jobs by the end of their id, which is what people are shown, among the newest."""

from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.storage.contract.store import Store
from tests.storage.verbs import enqueue_one


async def test_a_job_is_found_by_the_end_of_its_id(store: Store) -> None:
    jobs = [await enqueue_one(store) for _ in range(3)]
    for job in jobs:
        assert await store.ending_in(job.hex[-8:]) == [job]
        assert await store.ending_in(job.hex[-12:]) == [job]
    assert await store.ending_in("zzzzzzzz") == []


async def test_of_several_the_newest_come_first_and_no_more_than_asked_for(store: Store) -> None:
    """By ids of the caller's own, which may end alike."""
    jobs = [UUID(f"01a1e11e-0000-700{n}-8000-0000abcdef12") for n in range(4)]
    for job in jobs:
        await enqueue_one(store, id=job)
    assert await store.ending_in("abcdef12") == jobs[::-1]
    assert await store.ending_in("abcdef12", limit=2) == [jobs[3], jobs[2]]


async def test_only_so_many_of_the_newest_are_looked_at(store: Store) -> None:
    old, *newer = [await enqueue_one(store) for _ in range(4)]
    assert await store.ending_in(old.hex[-8:], among=3) == []
    assert await store.ending_in(newer[0].hex[-8:], among=3) == [newer[0]]


@pytest.mark.parametrize("namespace", ["acme", "default"])
async def test_a_namespace_sees_its_own_jobs_only(store: Store, namespace: str) -> None:
    """And those of another one do not count among its newest, unless it is the usual one."""
    own = await enqueue_one(store, namespace=namespace)
    foreign = await enqueue_one(store, namespace="globex")
    assert await store.ending_in(own.hex[-8:], namespace=namespace) == [own]
    assert await store.ending_in(foreign.hex[-8:], namespace=namespace) == []
    assert await store.ending_in(foreign.hex[-8:]) == [foreign]
    is_looked_at = namespace != "default"
    assert await store.ending_in(own.hex[-8:], namespace=namespace, among=1) == [own] * is_looked_at


async def test_a_limit_out_of_bounds_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await store.ending_in("abcdef12", limit=0)
