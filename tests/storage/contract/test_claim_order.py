"""Claiming: which jobs come first, and how many."""

from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Line
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    count,
    enqueue_one,
    found,
    recoverable,
    seconds,
    settle,
    succeeded,
)


@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_higher_priority_comes_first_and_then_who_came_first(store: Store, limit: int) -> None:
    """S1.41, S1.55, S1.67: by priority, highest first, below zero too; within one by the time of queueing."""
    priorities = [0, -5, 7, 0, 32_767, -32_767, 7]
    jobs = [await enqueue_one(store, priority=priority) for priority in priorities]

    taken = []
    while batch := await claim(store, limit=limit):
        taken += [claimed.lease.job for claimed in batch]

    assert [jobs.index(job) for job in taken] == [4, 2, 6, 0, 3, 1, 5]


async def test_jobs_recorded_together_are_claimed_in_the_order_given(store: Store) -> None:
    enqueued = await store.enqueue([NewJob(definition="mail") for _ in range(50)])
    claimed = await claim(store, limit=30) + await claim(store, limit=30)
    assert [job.lease.job for job in claimed] == [job.id for job in enqueued]


async def test_a_job_stands_in_line_from_the_moment_it_was_queued(store: Store, clock: Clock) -> None:
    """S1.41: a delayed job stands behind those that were queued before its time had come."""
    delayed = await enqueue_one(store, delay=seconds(10))
    before = await enqueue_one(store)
    await clock.advance(seconds(10))
    await store.promote(10)
    after = await enqueue_one(store)

    assert [claimed.lease.job for claimed in await claim(store)] == [before, delayed, after]


async def test_priorities_hold_across_lines(store: Store) -> None:
    """S1.55: the most urgent job comes first, whatever line it stands in."""
    lines = {MAIL: [0, 5, -1], Line("default", "post"): [3, -7, 9], Line("slow", "mail"): [4, -3, 8]}
    for line, priorities in lines.items():
        for priority in priorities:
            await enqueue_one(store, line.definition, queue=line.queue, priority=priority)

    taken = [claimed.lease.job for _ in range(3) for claimed in await claim(store, limit=3, lines=lines)]

    assert [(await found(store, job)).priority for job in taken] == [9, 8, 5, 4, 3, 0, -1, -3, -7]


@pytest.mark.parametrize("way", ["enqueue", "accept", "promote", "retry", "hand_back", "reap"])
async def test_an_urgent_job_goes_first_however_it_came_into_line(
    store: Store, clock: Clock, way: str
) -> None:
    """S1.55: no backlog that a worker is busy with hides it."""
    urgent = await _urgent_out_of_line(store, way)
    await store.enqueue([NewJob(definition="mail") for _ in range(5)])
    await claim(store, worker="b", limit=1)

    match way:
        case "enqueue":
            urgent = await enqueue_one(store, priority=9)
        case "accept":
            await store.accept([urgent])
        case "hand_back":
            fence = (await found(store, urgent)).fence
            await store.hand_back("a", unstarted=[Lease(urgent, fence)], killed=[])
        case _:
            await clock.advance(seconds(10))
            await (store.reap(10) if way == "reap" else store.promote(10))

    assert [claimed.lease.job for claimed in await claim(store, worker="b", limit=1)] == [urgent]


async def _urgent_out_of_line(store: Store, way: str) -> UUID:
    """A job of high priority that will come into line another way than by being recorded."""
    if way == "promote":
        return await enqueue_one(store, priority=9, delay=seconds(10))
    job = await enqueue_one(store, priority=9, hold=way in {"enqueue", "accept"})
    claimed = await claim(store, worker="a", lease_for=seconds(10))
    if way == "retry":
        await settle(store, [recoverable(one, after=seconds(10)) for one in claimed])
    return job


async def test_a_claim_misses_nothing_that_another_process_queued(store: Store, other: Store) -> None:
    """What a store remembers of the lines hides nothing for long: when a claim falls short it looks again."""
    await enqueue_one(store)
    assert len(await claim(store, limit=1)) == 1
    ways: list[dict[str, Any]] = [{"priority": -3}, {"priority": 7}, {"definition": "post"}, {"priority": 7}]
    for requested in ways:
        job = await enqueue_one(other, **requested)
        lines = [MAIL, Line("default", "post")] if "definition" in requested else [MAIL]
        claimed = await claim(store, limit=1, lines=lines) or await claim(store, limit=1, lines=lines)
        assert [one.lease.job for one in claimed] == [job]


async def test_equal_priorities_of_several_lines_take_turns(store: Store) -> None:
    """A long backlog keeps no other line waiting, however many lines of other workers there are."""
    await store.enqueue([NewJob(definition="mail") for _ in range(50)])
    await store.enqueue([NewJob(definition=f"foreign-{n}") for n in range(20)])
    await store.enqueue([NewJob(definition="wire") for _ in range(50)])
    lines = [Line("default", "mail"), Line("default", "wire")]

    singly = [one.definition for _ in range(10) for one in await claim(store, limit=1, lines=lines)]
    assert sorted(singly) == ["mail"] * 5 + ["wire"] * 5

    in_batches = [one.definition for _ in range(2) for one in await claim(store, limit=4, lines=lines)]
    assert set(in_batches) == {"mail", "wire"}


async def test_a_worker_gets_only_what_it_serves(store: Store) -> None:
    """Another queue, definition or version is somebody else's."""
    mine = await enqueue_one(store)
    await enqueue_one(store, "post")
    await enqueue_one(store, queue="slow")
    await enqueue_one(store, version=2)

    assert [claimed.lease.job for claimed in await claim(store, lines=[MAIL])] == [mine]
    assert await claim(store, lines=[Line("default", "unheard-of")]) == []
    assert await claim(store, lines=[]) == []


async def test_another_application_in_front_does_not_matter(store: Store) -> None:
    """What nobody here serves is neither taken nor in the way, not even at a higher priority."""
    await store.enqueue([NewJob(definition="foreign", priority=100) for _ in range(500)])
    mine = [await enqueue_one(store) for _ in range(3)]
    assert [claimed.lease.job for claimed in await claim(store)] == mine


async def test_cancelled_jobs_in_front_do_not_shorten_a_claim(store: Store) -> None:
    """S2.41: what was cancelled while it waited is passed over, and whoever stands behind it moves up."""
    enqueued = await store.enqueue([NewJob(definition="mail") for _ in range(150)])
    gone, left = enqueued[:100], enqueued[100:]
    await store.cancel([job.id for job in gone])

    assert [claimed.lease.job for claimed in await claim(store, limit=50)] == [job.id for job in left]


async def test_a_claim_takes_no_more_than_its_limit(store: Store) -> None:
    """S0.67: one at a time for who asks for one."""
    await store.enqueue([NewJob(definition="mail") for _ in range(5)])
    assert len(await claim(store, limit=1)) == 1
    assert len(await claim(store, limit=3)) == 3
    assert len(await claim(store, limit=3)) == 1
    assert await claim(store, limit=3) == []


async def test_a_hundred_jobs_are_claimed_at_once(store: Store, backend: Backend) -> None:
    """S4.41: the first hundred in one transaction, in their order, and no others."""
    enqueued = await store.enqueue([NewJob(definition="mail") for _ in range(250)])

    claimed = await claim(store, limit=100)

    assert [job.lease.job for job in claimed] == [job.id for job in enqueued[:100]]
    assert len({job.lease.fence for job in claimed}) == 1
    assert await count(backend, "tenure.lease") == 1
    assert await count(backend, "tenure.ready") == 150


async def test_settling_alone_takes_nobodys_turn(store: Store) -> None:
    """Else a worker that settles and claims in turns would serve one line for ever."""
    lines = (MAIL, Line("default", "post"))
    for definition in ("mail", "post") * 4:
        await enqueue_one(store, definition)
    served = []
    for _ in range(4):
        [claimed] = await claim(store, limit=1, lines=lines)
        await settle(store, [succeeded(claimed)])
        served.append(claimed.definition)
    assert sorted(served) == ["mail", "mail", "post", "post"]


async def test_a_line_named_twice_is_served_once(store: Store) -> None:
    jobs = [await enqueue_one(store) for _ in range(3)]
    claimed = await claim(store, lines=(MAIL, MAIL))
    assert [one.lease.job for one in claimed] == jobs


async def test_a_claim_that_found_nothing_looks_again(store: Store, other: Store) -> None:
    """A line that was empty a moment ago is not believed to be empty still."""
    await store.cancel([await enqueue_one(store)])
    assert await claim(store) == []
    assert await claim(store) == []
    job = await enqueue_one(other)
    assert [claimed.lease.job for claimed in await claim(store)] == [job]
