"""Priorities without starvation: waiting makes up for urgency, in some of the claims and minute by minute."""

from collections.abc import Iterable
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, recoverable, seconds, settle, succeeded

POST, WIRE = Line("default", "post"), Line("default", "wire")
FIVE = 5
"""Of so many claims in a row at least one goes by age."""


async def served(store: Store, claims: int = FIVE, lines: Iterable[Line] = (MAIL,)) -> list[UUID]:
    """The jobs that are claimed, one by one."""
    return [one.lease.job for _ in range(claims) for one in await claim(store, limit=1, lines=lines)]


async def urgent_ones(
    store: Store, priority: int = 5, count: int = 10, definition: str = "mail"
) -> list[UUID]:
    jobs = [NewJob(definition=definition, priority=priority) for _ in range(count)]
    return [made.id for made in await store.enqueue(jobs)]


@pytest.mark.parametrize(
    ("priorities", "waited", "passes"),
    [
        ((0, 1), 59, False),
        ((0, 1), 60, False),
        ((0, 1), 120, True),
        ((0, 5), 359, False),
        ((0, 5), 360, True),
        ((-100, 100), 200 * 60, False),
        ((-100, 100), 201 * 60, True),
    ],
)
async def test_a_job_passes_more_urgent_ones_when_it_has_waited_a_minute_more_than_steps_lie_between(
    store: Store, clock: Clock, priorities: tuple[int, int], waited: int, passes: bool
) -> None:
    """S3.67: short waits keep the order strict, and nobody waits for ever; the others keep their order."""
    low, high = priorities
    old = await enqueue_one(store, priority=low)
    await clock.advance(seconds(waited))
    urgent = await urgent_ones(store, high)

    taken = await served(store)

    assert (old in taken) is passes
    assert [job for job in taken if job != old] == urgent[: FIVE - passes]


async def test_both_have_waited_and_the_difference_counts(store: Store, clock: Clock) -> None:
    old = await enqueue_one(store)
    await clock.advance(seconds(5 * 60))
    urgent = await urgent_ones(store)
    await clock.advance(seconds(60 * 60))
    assert await served(store, 2 * FIVE) == urgent
    assert await served(store, 1) == [old]


async def test_an_old_backlog_leaves_most_claims_to_urgent_jobs(store: Store, clock: Clock) -> None:
    """S3.67: it is served, and yet who is urgent need not wait for as long as it has waited."""
    backlog = [made.id for made in await store.enqueue([NewJob(definition="mail") for _ in range(40)])]
    await clock.advance(seconds(24 * 60 * 60))
    urgent = await urgent_ones(store, count=40)

    taken = await served(store, 40)

    of_backlog = [job for job in taken if job in backlog]
    assert 8 <= len(of_backlog) <= 12
    assert of_backlog == backlog[: len(of_backlog)]
    assert [job for job in taken if job in urgent] == urgent[: 40 - len(of_backlog)]


async def test_an_old_job_that_may_not_be_claimed_keeps_nobody_waiting(store: Store, clock: Clock) -> None:
    """S3.67: neither a paused line nor one whose limit is used up stands before others because it is old."""
    limits = (Limit("api", size=1),)
    paused = await enqueue_one(store)
    running = await enqueue_one(store, "post", limits=limits)
    assert await served(store, 1, [POST]) == [running]
    full = await enqueue_one(store, "post", limits=limits)
    await store.pause(MAIL)
    await clock.advance(seconds(60 * 60))
    old = await enqueue_one(store, "wire")
    await clock.advance(seconds(10 * 60))
    urgent = await urgent_ones(store, definition="wire")

    taken = await served(store, FIVE, [MAIL, POST, WIRE])

    assert sorted(taken) == sorted([old, *urgent[: FIVE - 1]])
    assert not {paused, full} & set(taken)


async def test_an_old_job_gets_the_room_that_urgent_ones_keep_asking_for(store: Store, clock: Clock) -> None:
    """S3.67: a limit has room for one, and many stand in line for it."""
    limits = (Limit("api", size=1),)
    old = await enqueue_one(store, limits=limits)
    await clock.advance(seconds(60 * 60))
    await store.enqueue([NewJob(definition="mail", priority=9, limits=limits) for _ in range(10)])

    order = Order(worker="a", lines=(MAIL,), limit=10)
    taken, turn = [], await store.settle_and_claim([], order)
    for _ in range(FIVE):
        [owned] = turn.claimed
        taken.append(owned.lease.job)
        turn = await store.settle_and_claim([succeeded(owned)], order)

    assert old in taken


@pytest.mark.parametrize("way", ["promote", "accept", "retry"])
async def test_only_the_time_in_line_counts(store: Store, clock: Clock, way: str) -> None:
    """S3.67: not the time for which a job was held, delayed or retried."""
    job = await enqueue_one(store, hold=way == "accept", delay=seconds(60 * 60) if way == "promote" else None)
    if way == "retry":
        await settle(store, [recoverable(one, after=seconds(60 * 60)) for one in await claim(store)])
    await clock.advance(seconds(60 * 60))
    if way == "accept":
        await store.accept([job])
    else:
        assert [moved.job for moved in await store.promote(10)] == [job]
    urgent = await urgent_ones(store)
    await clock.advance(seconds(59))

    assert await served(store) == urgent[:FIVE]
