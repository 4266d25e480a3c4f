"""Spawning: a job that runs asks for others, all or none, and only while its owner holds it."""

import asyncio
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput, StoreRefused
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease, Line
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    PATIENCE,
    claim,
    count,
    enqueue_one,
    found,
    listed,
    record_of,
    seconds,
    settle,
    state_of,
    succeeded,
)

CHILD = NewJob(definition="child")
CHILDREN = Line("default", "child")


async def parent(store: Store, worker: str = "a") -> Claimed:
    await enqueue_one(store)
    [owned] = await claim(store, worker=worker, lease_for=seconds(30))
    return owned


async def nothing_is_born(store: Store, lease: Lease, worker: str = "a") -> None:
    before = [job.id for job in await listed(store)]
    assert await store.spawn(worker, lease, [CHILD, CHILD]) is None
    assert [job.id for job in await listed(store)] == before


async def test_children_know_their_parent(store: Store, clock: Clock) -> None:
    """As they were asked for in everything else, whatever parent the request named."""
    owned = await parent(store)
    now = await clock.advance(seconds(3))
    requested = [
        NewJob(
            definition="child", priority=7, params=Document('{"n":1}'), tags=("red",), limits=(Limit("api"),)
        ),
        NewJob(definition="child", delay=seconds(10), parent=uuid4()),
        NewJob(definition="child", hold=True),
    ]
    born = await store.spawn("a", owned.lease, requested)
    assert born is not None
    assert [(one.state, one.fresh) for one in born] == [
        (State.QUEUED, True),
        (State.SCHEDULED, True),
        (State.CREATED, True),
    ]
    children = [await found(store, one.id) for one in born]
    assert {child.parent for child in children} == {owned.lease.job}
    assert {child.created_at for child in children} == {now}
    assert (children[0].priority, children[0].params, children[0].tags) == (7, '{"n":1}', ("red",))
    assert [limit.name for limit in children[0].limits] == ["api"]
    assert children[1].due_at == now + seconds(10)


async def test_the_parent_is_none_the_wiser(store: Store) -> None:
    """It is not moved, not prolonged, and its history does not grow."""
    owned = await parent(store)
    before = await record_of(store, owned.lease.job)
    await store.spawn("a", owned.lease, [CHILD])
    assert await record_of(store, owned.lease.job) == before


async def test_a_child_can_be_claimed_at_once(store: Store, other: Store) -> None:
    """While its parent still runs, by whatever process."""
    owned = await parent(store)
    born = await store.spawn("a", owned.lease, [CHILD])
    assert born is not None
    assert [one.lease.job for one in await claim(other, "b", lines=[CHILDREN])] == [born[0].id]


async def test_whoever_waits_for_work_hears_of_a_child(store: Store) -> None:
    owned = await parent(store)
    async with asyncio.timeout(PATIENCE), store.listen() as wakeups:
        await wakeups.wait(0)
        await store.spawn("a", owned.lease, [CHILD])
        while not await wakeups.wait(1):
            pass


async def test_late_is_late(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: who has lost its lease makes no children, before the reaper came and after."""
    owned = await parent(store)
    await clock.advance(seconds(30))
    await nothing_is_born(store, owned.lease)
    await store.reap(10)
    await nothing_is_born(store, owned.lease)
    await claim(store, worker="b")
    await nothing_is_born(store, owned.lease)


async def test_only_the_owner_has_children(store: Store) -> None:
    """S0.14: not another worker, not under another fence, not for a job that there is not."""
    owned = await parent(store)
    await nothing_is_born(store, owned.lease, worker="b")
    await nothing_is_born(store, Lease(owned.lease.job, owned.lease.fence + 1))
    await nothing_is_born(store, Lease(owned.lease.job, owned.lease.fence - 1))
    await nothing_is_born(store, Lease(uuid4(), owned.lease.fence))


async def test_a_job_that_has_ended_has_no_more_children(store: Store) -> None:
    """S0.15: nor one that was given back."""
    ended, returned = await parent(store), await parent(store)
    await settle(store, [succeeded(ended)])
    await store.hand_back("a", unstarted=[returned.lease], killed=[])
    await nothing_is_born(store, ended.lease)
    await nothing_is_born(store, returned.lease)


async def test_a_job_that_is_to_stop_may_still_have_children(store: Store) -> None:
    """It is owned until it has stopped."""
    owned = await parent(store)
    await store.cancel([owned.lease.job])
    assert await store.spawn("a", owned.lease, [CHILD])


async def test_the_same_child_again_is_the_first_one(store: Store) -> None:
    """S0.56: a handler that is run again asks again, and a key makes one job of it."""
    owned = await parent(store)
    once = NewJob(definition="child", key="once")
    first = await store.spawn("a", owned.lease, [once])
    await store.hand_back("a", unstarted=[owned.lease], killed=[])
    [again] = await claim(store)
    second = await store.spawn("a", again.lease, [CHILD, once, NewJob(definition="other", key="once")])
    assert first is not None
    assert second is not None
    assert [one.fresh for one in second] == [True, False, False]
    assert [one.matches for one in second] == [True, True, False]
    assert first[0].id == second[1].id == second[2].id
    assert await store.spawn("a", again.lease, [once]) == [second[1]]


async def test_all_are_born_or_none(store: Store, backend: Backend) -> None:
    """S3.25: what the database refuses of one, it refuses of all."""
    owned = await parent(store)
    spoilt, sound = NewJob(definition="child", id=uuid4()), NewJob(definition="child", id=uuid4())
    await backend.sql(f"INSERT INTO tenure.tag (name, job) VALUES ('red', '{spoilt.id}')")
    tagged = NewJob(definition="child", id=spoilt.id, tags=("red",))
    with pytest.raises(StoreRefused):
        await store.spawn("a", owned.lease, [sound, tagged])
    assert [await store.get(UUID(str(one.id))) for one in (sound, tagged)] == [None, None]
    assert await count(backend, "tenure.job") == 1


async def test_who_asks_for_no_children_hears_whether_it_could(store: Store) -> None:
    owned = await parent(store)
    assert await store.spawn("a", owned.lease, []) == []
    await settle(store, [succeeded(owned)])
    assert await store.spawn("a", owned.lease, []) is None


async def test_too_many_children_are_refused(store: Store, backend: Backend) -> None:
    owned = await parent(store)
    with pytest.raises(InvalidInput, match="jobs"):
        await store.spawn("a", owned.lease, [CHILD] * 10_001)
    with pytest.raises(InvalidInput, match="worker"):
        await store.spawn("", owned.lease, [CHILD])
    assert await count(backend, "tenure.job") == 1


async def test_spawning_against_settling(store: Store, other: Store) -> None:
    """S0.14: children are there exactly where the answer says so, and no parent is lost over it."""
    parents = [await parent(store) for _ in range(8)]
    settled, born = await asyncio.gather(
        settle(store, [succeeded(one) for one in parents]),
        asyncio.gather(*(other.spawn("a", one.lease, [CHILD, CHILD]) for one in parents)),
    )
    assert len(settled.accepted) == 8
    made = {job.parent: job for job in await listed(store) if job.parent}
    assert set(made) == {one.lease.job for one, children in zip(parents, born, strict=True) if children}
    assert {await state_of(store, one.lease.job) for one in parents} == {State.SUCCEEDED}
