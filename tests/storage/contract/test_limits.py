"""Limits: never more jobs at once than a limit allows, and other jobs do not wait for them."""

import asyncio
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line, Order
from tenure.core.model.limit import Limit, LimitUse
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    PATIENCE,
    claim,
    enqueue_one,
    found,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)
from tests.until import until

POST = Line("default", "post")
LINES = (MAIL, POST, Line("slow", "mail"))


async def enqueue_many(store: Store, number: int, *limits: Limit, definition: str = "mail") -> list[UUID]:
    jobs = [NewJob(definition=definition, limits=limits) for _ in range(number)]
    return [job.id for job in await store.enqueue(jobs)]


async def claim_all(store: Store, worker: str = "a", limit: int = 10) -> list[Claimed]:
    """Claim until two claims in a row found nothing: what one passed over, the next may take."""
    claimed: list[Claimed] = []
    empty = 0
    while empty < 2:
        more = await claim(store, worker, limit, LINES)
        empty = 0 if more else empty + 1
        claimed += more
    return claimed


async def held(store: Store, name: str = "api", key: str = "") -> int:
    [use] = [use for use in await store.limits() if (use.name, use.key) == (name, key)]
    return use.held


def jobs_of(claimed: list[Claimed]) -> list[UUID]:
    return [one.lease.job for one in claimed]


async def test_no_more_run_than_the_limit_allows(store: Store) -> None:
    """A claim larger than the room takes what there is room for, in order."""
    jobs = await enqueue_many(store, 10, Limit("api", size=3))
    first = await claim(store, limit=10)
    assert jobs_of(first) == jobs[:3]
    assert await claim_all(store, worker="b") == []
    await settle(store, [succeeded(first[1])])
    assert jobs_of(await claim_all(store, worker="b")) == jobs[3:4]
    assert await held(store) == 3


@pytest.mark.parametrize("batch", [1, 2, 7])
async def test_room_is_filled_in_claims_of_any_size(store: Store, batch: int) -> None:
    jobs = await enqueue_many(store, 12, Limit("api", size=5))
    assert jobs_of(await claim_all(store, limit=batch)) == jobs[:5]


async def test_never_too_many_with_many_workers_of_two_processes(store: Store, other: Store) -> None:
    """S1.68, S1.82: counted after every turn of any of them; and all jobs are done in the end."""
    size, jobs = 3, await enqueue_many(store, 30, Limit("api", size=3))
    running: set[UUID] = set()
    done: list[UUID] = []

    async def work(on: Store, worker: str) -> None:
        owned: list[Claimed] = []
        while len(done) < len(jobs):
            order = Order(worker=worker, lines=(MAIL,), limit=2)
            running.difference_update(jobs_of(owned))
            turn = await on.settle_and_claim([succeeded(one) for one in owned], order)
            assert turn.settled.lost == []
            done.extend(jobs_of(owned))
            owned = list(turn.claimed)
            running.update(jobs_of(owned))
            assert await held(on) <= size
            assert len(running) <= size

    async with asyncio.timeout(PATIENCE * 3):
        await asyncio.gather(*(work((store, other)[n % 2], f"worker-{n}") for n in range(6)))
    assert sorted(done) == sorted(jobs)
    assert await held(store) == 0


async def test_keys_have_room_apart(store: Store) -> None:
    """The size is that of the name, for each key by itself."""
    ann = await enqueue_many(store, 3, Limit("tenant", "ann"))
    bob = await enqueue_many(store, 3, Limit("tenant", "bob"))
    assert set(jobs_of(await claim_all(store))) == {ann[0], bob[0]}
    assert await store.limits() == [LimitUse("tenant", "ann", 1, 1), LimitUse("tenant", "bob", 1, 1)]


async def test_a_job_runs_only_while_each_of_its_limits_has_room(store: Store) -> None:
    both = (Limit("api", size=2), Limit("tenant", "ann", 1))
    first = await enqueue_many(store, 2, *both)
    other = await enqueue_many(store, 2, Limit("api", size=2), Limit("tenant", "bob", 1))
    assert set(jobs_of(await claim_all(store))) == {first[0], other[0]}
    assert [(use.name, use.key, use.held) for use in await store.limits()] == [
        ("api", "", 2),
        ("tenant", "ann", 1),
        ("tenant", "bob", 1),
    ]


async def test_a_job_waiting_for_one_limit_takes_no_place_in_another(store: Store) -> None:
    """Whoever needs only the other one gets it."""
    await enqueue_many(store, 1, Limit("a"))
    assert len(await claim_all(store)) == 1
    [stuck] = await enqueue_many(store, 1, Limit("a"), Limit("b"))
    [free] = await enqueue_many(store, 1, Limit("b"))
    assert jobs_of(await claim_all(store)) == [free]
    assert await state_of(store, stuck) is State.QUEUED
    assert (await held(store, "a"), await held(store, "b")) == (1, 1)


async def test_definitions_and_queues_share_a_limit(store: Store) -> None:
    limits = (Limit("api", size=2),)
    for definition, queue in (("mail", "default"), ("post", "default"), ("mail", "slow")):
        await enqueue_one(store, definition, queue=queue, limits=limits)
    first = await claim_all(store)
    assert len(first) == 2
    await settle(store, [succeeded(first[0])])
    assert len(await claim_all(store)) == 1
    assert await held(store) == 2


async def test_waiting_for_a_limit_keeps_nobody_else_waiting(store: Store) -> None:
    """Not even behind hundreds of a higher priority, under many keys."""
    full = [Limit("tenant", str(n)) for n in range(30)]
    await store.enqueue([NewJob(definition="mail", limits=(each,)) for each in full])
    assert len(await claim_all(store)) == 30
    await store.enqueue([NewJob(definition="mail", limits=(each,), priority=50) for each in full * 10])
    unlimited, roomy = await enqueue_one(store), await enqueue_one(store, limits=(Limit("tenant", "new"),))
    assert set(jobs_of(await claim_all(store, limit=2))) == {unlimited, roomy}


async def test_within_a_limit_the_urgent_go_first(store: Store) -> None:
    """As anywhere else."""
    limits = (Limit("api"),)
    jobs = [await enqueue_one(store, priority=priority, limits=limits) for priority in (0, 5, -5, 5)]
    taken = []
    while claimed := await claim_all(store):
        taken += jobs_of(claimed)
        await settle(store, [succeeded(one) for one in claimed])
    assert [jobs.index(job) for job in taken] == [1, 3, 0, 2]


async def test_a_turn_passes_a_place_on(store: Store) -> None:
    """What is settled makes room for what is claimed in the same call."""
    jobs = await enqueue_many(store, 3, Limit("api"), Limit("tenant", "ann"))
    [owned] = await claim(store, limit=1)
    for following in jobs[1:]:
        turn = await store.settle_and_claim([succeeded(owned)], Order(worker="a", lines=(MAIL,), limit=5))
        assert jobs_of(list(turn.claimed)) == [following]
        [owned] = turn.claimed
        assert await held(store) == 1
    await settle(store, [succeeded(owned)])
    assert [use.held for use in await store.limits()] == [0, 0]


async def test_a_retried_job_needs_a_place_again(store: Store, clock: Clock) -> None:
    [retried, following] = await enqueue_many(store, 2, Limit("api"))
    [owned] = await claim_all(store)
    await settle(store, [recoverable(owned, after=seconds(5))])
    [second] = await claim_all(store)
    assert second.lease.job == following
    await clock.advance(seconds(5))
    await store.promote(10)
    assert await claim_all(store) == []
    await settle(store, [succeeded(second)])
    assert jobs_of(await claim_all(store)) == [retried]


async def test_a_limit_with_more_room_is_used_at_once(store: Store) -> None:
    jobs = await enqueue_many(store, 6, Limit("api"))
    assert jobs_of(await claim_all(store)) == jobs[:1]
    await store.set_limit("api", 4)
    assert jobs_of(await claim_all(store)) == jobs[1:4]
    assert await store.limits() == [LimitUse("api", "", 4, 4)]


@pytest.mark.parametrize("way", ["end", "set_limit"])
async def test_room_made_by_another_process_is_found_soon(store: Store, other: Store, way: str) -> None:
    """Whatever a store believes of a limit, it looks again."""
    jobs = await enqueue_many(store, 2, Limit("api"))
    [owned] = await claim(other, "b", limit=1)
    assert await claim_all(store) == []
    if way == "end":
        await settle(other, [succeeded(owned)], "b")
    else:
        await other.set_limit("api", 2)
    claimed = await until(lambda: claim(store))
    assert jobs_of(claimed) == jobs[1:]


@pytest.mark.parametrize("first_to_end", ["first", "last"])
async def test_a_limit_with_less_room_lets_none_begin_until_they_are_fewer(
    store: Store, first_to_end: str
) -> None:
    """Those that run go on; whichever of them end first."""
    await enqueue_many(store, 12, Limit("api", size=5))
    running = await claim_all(store)
    await store.set_limit("api", 2)
    assert await store.limits() == [LimitUse("api", "", 2, 5)]
    assert await claim_all(store) == []
    if first_to_end == "last":
        running.reverse()
    for still in (4, 3, 2):
        await settle(store, [succeeded(running.pop(0))])
        assert await claim_all(store) == [], still
        assert await held(store) == still
    turn = await store.settle_and_claim(
        [succeeded(running.pop(0))], Order(worker="a", lines=(MAIL,), limit=5)
    )
    assert len([*turn.claimed, *await claim_all(store)]) == 1
    assert await held(store) == 2
    await store.set_limit("api", 5)
    assert len(await claim_all(store)) == 3


async def test_the_size_is_the_names_and_the_first_to_bring_it_sets_it(store: Store) -> None:
    """Another size later changes nothing, for other keys neither; only `set_limit` does."""
    await enqueue_many(store, 3, Limit("tenant", "ann", 2))
    await enqueue_many(store, 3, Limit("tenant", "ann", 9))
    await enqueue_many(store, 3, Limit("tenant", "bob", 1))
    assert len(await claim_all(store)) == 4
    assert {use.size for use in await store.limits()} == {2}
    await store.set_limit("tenant", 3)
    assert len(await claim_all(store)) == 2


async def test_of_several_sizes_in_one_call_the_first_counts(store: Store) -> None:
    await store.enqueue([NewJob(definition="mail", limits=(Limit("api", str(n), 3 - n),)) for n in range(3)])
    assert {use.size for use in await store.limits()} == {3}


async def test_a_limit_may_be_set_before_any_job_names_it(store: Store) -> None:
    await store.set_limit("api", 2)
    jobs = await enqueue_many(store, 4, Limit("api", size=9))
    assert jobs_of(await claim_all(store)) == jobs[:2]
    assert await store.limits() == [LimitUse("api", "", 2, 2)]


async def test_a_limit_nobody_runs_under_is_shown_with_its_room(store: Store) -> None:
    """In the order of names and keys."""
    assert await store.limits() == []
    for limit in (Limit("b", "y", 3), Limit("a", size=2), Limit("b", "x", 3)):
        await enqueue_many(store, 1, limit)
    assert await store.limits() == [
        LimitUse("a", "", 2, 0),
        LimitUse("b", "x", 3, 0),
        LimitUse("b", "y", 3, 0),
    ]


async def test_a_job_shows_the_limits_it_runs_under(store: Store) -> None:
    limits = (Limit("tenant", "ann", 4), Limit("api", size=2))
    job = await enqueue_one(store, limits=limits)
    assert (await found(store, job)).limits == tuple(sorted(limits))
    assert (await found(store, await enqueue_one(store))).limits == ()


@pytest.mark.parametrize(("name", "size"), [("api", 0), ("api", 10_001), ("no name", 1), ("", 1)])
async def test_a_limit_that_makes_no_sense_is_refused(store: Store, name: str, size: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await store.set_limit(name, size)


async def test_a_key_belongs_to_the_namespace_whose_job_names_it(store: Store) -> None:
    """No tenant takes the place of another; what has no key is for all."""
    requested = [
        NewJob(definition="mail", namespace=name, limits=(Limit("api", key),))
        for key in ("ada", "")
        for name in ("acme", "default", "globex", "acme")
    ]
    jobs = [made.id for made in await store.enqueue(requested)]
    claimed = await claim_all(store)
    assert sorted(jobs_of(claimed)) == sorted([*jobs[:3], jobs[4]])
    assert [(await found(store, job)).limits for job in jobs] == [new.limits for new in requested]
    await settle(store, [succeeded(claimed[jobs_of(claimed).index(jobs[1])])])
    assert not await claim_all(store)
    await settle(store, [succeeded(claimed[jobs_of(claimed).index(jobs[0])])])
    assert jobs_of(await claim_all(store)) == [jobs[3]]
