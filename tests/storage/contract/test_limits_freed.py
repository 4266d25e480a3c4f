"""Limits: a job holds its place until its attempt ends, however it ends, and no longer."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Line, Order, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Report
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    enqueue_one,
    recoverable,
    seconds,
    settle,
    state_of,
    stopped,
    succeeded,
    suspended,
    unrecoverable,
)

LIMITS = (Limit("api"), Limit("tenant", "ann"))
Ending = Callable[[Store, Clock, Claimed], Awaitable[object]]


async def held(store: Store) -> list[int]:
    return [use.held for use in await store.limits()]


async def _reaped(store: Store, clock: Clock, _: Claimed) -> None:
    await clock.advance(seconds(30))
    await store.reap(10)


async def _asked_to_stop(store: Store, owned: Claimed) -> None:
    await store.cancel([owned.lease.job])
    assert await held(store) == [1, 1]


async def _stopped(store: Store, _: Clock, owned: Claimed) -> None:
    await _asked_to_stop(store, owned)
    await settle(store, [stopped(owned)])


async def _succeeded_after_all(store: Store, _: Clock, owned: Claimed) -> None:
    await _asked_to_stop(store, owned)
    await settle(store, [succeeded(owned)])


async def _handed_back_while_cancelling(store: Store, _: Clock, owned: Claimed) -> None:
    await _asked_to_stop(store, owned)
    await store.hand_back("a", unstarted=[], killed=[owned.lease])


async def _reaped_while_cancelling(store: Store, clock: Clock, owned: Claimed) -> None:
    await _asked_to_stop(store, owned)
    await _reaped(store, clock, owned)


ENDINGS: dict[str, tuple[Ending, State]] = {
    "success": (lambda store, _, owned: settle(store, [succeeded(owned)]), State.SUCCEEDED),
    "retry": (lambda store, _, owned: settle(store, [recoverable(owned)]), State.RETRYING),
    "failure": (lambda store, _, owned: settle(store, [unrecoverable(owned)]), State.FAILED),
    "suspension": (lambda store, _, owned: settle(store, [suspended(owned)]), State.SUSPENDED),
    "hand back": (lambda store, _, it: store.hand_back("a", unstarted=[it.lease], killed=[]), State.QUEUED),
    "kill": (lambda store, _, it: store.hand_back("a", unstarted=[], killed=[it.lease]), State.QUEUED),
    "loss": (_reaped, State.QUEUED),
    "stop": (_stopped, State.CANCELLED),
    "success while cancelling": (_succeeded_after_all, State.SUCCEEDED),
    "kill while cancelling": (_handed_back_while_cancelling, State.CANCELLED),
    "loss while cancelling": (_reaped_while_cancelling, State.CANCELLED),
}


@pytest.mark.parametrize("way", ENDINGS)
async def test_the_end_of_an_attempt_frees_its_places(store: Store, clock: Clock, way: str) -> None:
    """In every limit of the job, and exactly once: one other job may begin, and no more."""
    end, state = ENDINGS[way]
    job = await enqueue_one(store, limits=LIMITS)
    [owned] = await claim(store, lease_for=seconds(30))
    for _ in range(2):
        await enqueue_one(store, limits=LIMITS, priority=1)
    assert await claim(store) == []
    assert await held(store) == [1, 1]

    await end(store, clock, owned)

    assert await state_of(store, job) is state
    assert await held(store) == [0, 0]
    assert len(await claim(store) + await claim(store)) == 1
    assert await held(store) == [1, 1]


@pytest.mark.parametrize("looks", ["before", "in the same call"])
async def test_the_end_of_an_attempt_leaves_its_places_to_lines_that_it_was_not_claimed_with(
    store: Store, looks: str
) -> None:
    """The call that ends it claims the job that waited for them; its orders name but one of the lines."""
    post = Line("default", "post")
    await enqueue_one(store, limits=LIMITS)
    [owned] = await claim(store)
    waiting = [await enqueue_one(store, "post", limits=LIMITS) for _ in range(2)]
    order = Order(worker="a", lines=(post,), limit=2)
    if looks == "before":
        assert (await store.settle_and_claim([], order)).claimed == []

    for job in waiting:
        [owned] = (await store.settle_and_claim([succeeded(owned)], order)).claimed
        assert owned.lease.job == job

    assert (await store.settle_and_claim([succeeded(owned)], order)).claimed == []
    assert await held(store) == [0, 0]


@pytest.mark.parametrize("way", ["kill", "loss"])
async def test_a_buried_job_holds_no_place(store: Store, clock: Clock, way: str) -> None:
    job = await enqueue_one(store, limits=LIMITS, policy=Policy(on_lost=OnLost.BURY))
    [owned] = await claim(store, lease_for=seconds(30))
    await ENDINGS[way][0](store, clock, owned)
    assert await state_of(store, job) is State.BURIED
    assert await held(store) == [0, 0]


async def test_a_lease_that_has_run_out_holds_its_places_until_it_is_reaped(
    store: Store, clock: Clock
) -> None:
    """Until then nobody knows that the worker has gone."""
    for _ in range(2):
        await enqueue_one(store, limits=LIMITS)
    [late] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(31))
    assert (await settle(store, [succeeded(late)])).lost == [late.lease]
    assert await claim(store) == []
    assert await held(store) == [1, 1]
    await store.reap(10)
    assert len(await claim(store)) == 1


async def test_a_report_that_does_not_count_frees_nothing(store: Store, clock: Clock) -> None:
    """A worker that lost its job cannot give away the place of who has it now."""
    await enqueue_one(store, limits=LIMITS)
    [late] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    await store.reap(10)
    [current] = await claim(store, worker="b") or await claim(store, worker="b")
    assert (await settle(store, [succeeded(late)])).lost == [late.lease]
    await store.hand_back("a", unstarted=[late.lease], killed=[])
    await settle(store, [succeeded(late.lease)], worker="b")
    assert await held(store) == [1, 1]
    await settle(store, [succeeded(current)], worker="b")
    assert await held(store) == [0, 0]


async def test_what_never_ran_holds_no_place(store: Store, clock: Clock) -> None:
    """Held, scheduled, queued; cancelled or not."""
    jobs = [
        await enqueue_one(store, limits=LIMITS, hold=True),
        await enqueue_one(store, limits=LIMITS, delay=seconds(5)),
        await enqueue_one(store, limits=LIMITS),
    ]
    assert await held(store) == [0, 0]
    [_] = await claim(store)
    await store.cancel(jobs[:2])
    assert await held(store) == [1, 1]


async def test_a_heartbeat_keeps_the_place(store: Store, clock: Clock) -> None:
    for _ in range(2):
        await enqueue_one(store, limits=LIMITS)
    [owned] = await claim(store, lease_for=seconds(30))
    for _ in range(3):
        await clock.advance(seconds(20))
        await store.heartbeat(Pulse(worker="a", leases=[owned.lease], lease_for=seconds(30)))
        assert await store.reap(10) == []
        assert await claim(store) == []
    assert await held(store) == [1, 1]


async def test_jobs_that_end_together_free_a_place_each(store: Store, clock: Clock) -> None:
    """In whatever ways they end, in one call or in several at once."""
    limit = Limit("many", size=8)
    jobs = [NewJob(definition="mail", limits=(limit, Limit("pair", str(n % 2), 8))) for n in range(16)]
    await store.enqueue(jobs)
    owned: list[Claimed] = []
    while len(owned) < 8:
        owned += await claim(store, limit=20, lease_for=seconds(30))
    ways: list[Callable[[Claimed], Report]] = [succeeded, recoverable, unrecoverable, suspended]
    await asyncio.gather(
        settle(store, [way(one) for way, one in zip(ways, owned, strict=False)]),
        store.hand_back("a", unstarted=[owned[4].lease], killed=[owned[5].lease]),
        store.cancel([one.lease.job for one in owned]),
    )
    await clock.advance(seconds(30))
    await store.reap(10)
    assert await held(store) == [0, 0, 0]
    claimed: list[Claimed] = []
    for _ in range(4):
        claimed += await claim(store, limit=20)
    assert len(claimed) == 8
