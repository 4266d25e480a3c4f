"""Wake-ups: hints that something may have happened, from whatever process, and nothing to rely on."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tenure.core.model.lease import Claimed
from tenure.core.model.policy import OnLost, Policy
from tenure.storage.contract.store import Store, Wakeups
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    MAIL,
    PATIENCE,
    claim,
    enqueue_one,
    fall_asleep,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
    suspended,
    woken,
)


async def is_given_up(wakeups: Wakeups) -> bool:
    """Give up a long wait after a short while; whether no hint came before."""
    try:
        async with asyncio.timeout(0.1):
            await wakeups.wait(PATIENCE)
    except TimeoutError:
        return True
    return False


async def test_without_news_a_wait_ends_with_its_time(store: Store) -> None:
    """Whatever was heard before, at last there is no hint, not even for who does not wait at all."""
    async with store.listen() as wakeups, asyncio.timeout(PATIENCE):
        while await wakeups.wait(0.01):
            pass
        while await wakeups.wait(0):
            pass


async def test_a_job_put_in_line_by_another_process_wakes(store: Store, other: Store) -> None:
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        job = await enqueue_one(other)
        assert await woken(wakeups)
        assert [owned.lease.job for owned in await claim(store)] == [job]


async def test_a_job_put_in_line_here_wakes(store: Store) -> None:
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        await enqueue_one(store)
        assert await woken(wakeups)


async def test_a_job_that_ended_elsewhere_wakes_who_asked_for_it(store: Store, other: Store) -> None:
    """For whoever waits for a result; a hint may be lost, so that not every ending needs to wake."""
    for _ in range(50):
        await enqueue_one(store)
    owned = await claim(other, limit=50)
    async with other.listen() as theirs, store.listen(endings=True) as wakeups:
        await enqueue_one(store)
        assert await woken(theirs)
        await fall_asleep(wakeups)
        for one in owned:
            await settle(other, [succeeded(one)])
            if await wakeups.wait(0.1):
                break
        else:
            pytest.fail("fifty jobs have ended without a hint")


@pytest.mark.parametrize("way", ["settle", "cancel", "hand_back", "reap", "promote"])
async def test_whatever_ends_a_job_here_wakes_who_asked_for_it(store: Store, clock: Clock, way: str) -> None:
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY if way != "promote" else OnLost.RETRY))
    [owned] = await claim(store, lease_for=seconds(30))
    if way == "cancel":
        await store.cancel([job])
        job = await enqueue_one(store)
    elif way == "promote":
        await settle(store, [recoverable(owned)])
        await store.give_up([job])
    elif way == "reap":
        await clock.advance(seconds(30))
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "settle": lambda: settle(store, [succeeded(owned)]),
        "cancel": lambda: store.cancel([job]),
        "hand_back": lambda: store.hand_back("a", unstarted=[], killed=[owned.lease]),
        "reap": lambda: store.reap(10),
        "promote": lambda: store.promote(10),
    }
    async with store.listen(endings=True) as wakeups:
        await fall_asleep(wakeups)
        await ways[way]()
        assert await woken(wakeups)
    assert (await state_of(store, job)).is_final


@pytest.mark.parametrize("way", ["accept", "promote", "hand_back", "reap", "replay"])
async def test_whatever_puts_a_job_in_line_elsewhere_wakes(
    store: Store, other: Store, clock: Clock, way: str
) -> None:
    job = await enqueue_one(store, hold=way == "accept", delay=seconds(5) if way == "promote" else None)
    owned = await claim(other, lease_for=seconds(30))
    if way == "replay":
        await settle(other, [succeeded(one) for one in owned])
    elif way in {"promote", "reap"}:
        await clock.advance(seconds(30))
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "accept": lambda: other.accept([job]),
        "promote": lambda: other.promote(10),
        "hand_back": lambda: other.hand_back("a", unstarted=[one.lease for one in owned], killed=[]),
        "reap": lambda: other.reap(10),
        "replay": lambda: other.replay([job]),
    }
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        await ways[way]()
        assert await woken(wakeups)
    assert len(await claim(store)) == 1


@pytest.mark.parametrize(
    "way", ["enqueue", "settle", "suspend", "give_up", "reschedule", "accept", "cancel", "pause"]
)
async def test_whatever_changes_the_outlook_elsewhere_wakes_who_asked_for_it(
    store: Store, other: Store, way: str
) -> None:
    """Times to wait for, too, of which nobody else needs to hear."""
    held = await enqueue_one(store, hold=True, delay=seconds(500))
    owned: list[Claimed] = []
    for _ in range(2):
        await enqueue_one(store)
        owned += await claim(other)
    late = owned[1].lease.job
    await settle(other, [recoverable(owned[1])])
    ways: dict[str, Callable[[], Awaitable[object]]] = {
        "enqueue": lambda: enqueue_one(other, delay=seconds(5)),
        "settle": lambda: settle(other, [recoverable(owned[0])]),
        "suspend": lambda: settle(other, [suspended(owned[0])]),
        "give_up": lambda: other.give_up([late]),
        "reschedule": lambda: other.reschedule([late]),
        "accept": lambda: other.accept([held]),
        "cancel": lambda: other.cancel([late]),
        "pause": lambda: other.pause(MAIL, until=START + seconds(60)),
    }
    async with store.listen(changes=True) as wakeups:
        await fall_asleep(wakeups)
        await ways[way]()
        assert await woken(wakeups)


async def test_a_hint_that_came_before_the_wait_is_not_lost(store: Store, other: Store) -> None:
    """Who looks, then waits, has missed nothing in between."""
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        await enqueue_one(other)
        assert await woken(wakeups)
        await fall_asleep(wakeups)
        waiting = asyncio.create_task(woken(wakeups))
        await enqueue_one(other)
        assert await waiting


async def test_everybody_who_listens_is_woken(store: Store, other: Store) -> None:
    async with store.listen() as one, store.listen() as two, other.listen() as three:
        for wakeups in (one, two, three):
            await fall_asleep(wakeups)
        await enqueue_one(store)
        assert all(await asyncio.gather(woken(one), woken(two), woken(three)))


async def test_who_stops_listening_may_listen_again(store: Store, other: Store) -> None:
    for _ in range(3):
        async with store.listen() as wakeups:
            await fall_asleep(wakeups)
            await enqueue_one(other)
            assert await woken(wakeups)
    await enqueue_one(other)


async def test_a_wait_may_be_given_up(store: Store, other: Store) -> None:
    """Listening goes on all the same."""
    async with store.listen() as wakeups:
        while not await is_given_up(wakeups):
            pass
        await enqueue_one(other)
        assert await woken(wakeups)


async def test_who_wants_to_be_called_need_not_wait(store: Store, other: Store) -> None:
    called = asyncio.Event()
    async with store.listen() as wakeups:
        await fall_asleep(wakeups)
        wakeups.call(called.set)
        await enqueue_one(other)
        async with asyncio.timeout(PATIENCE):
            await called.wait()
        assert not await wakeups.wait(0)


async def test_nobody_needs_to_listen(store: Store, other: Store) -> None:
    """Polling alone is always correct."""
    job = await enqueue_one(other)
    assert [owned.lease.job for owned in await claim(store)] == [job]


@pytest.mark.parametrize("here", [True, False])
async def test_who_runs_jobs_is_woken_when_one_is_asked_to_stop(
    store: Store, other: Store, here: bool
) -> None:
    """The heartbeat would tell too, but later. Jobs put in line do not wake who listens for this."""
    job = await enqueue_one(store)
    await claim(store)
    async with store.listen(stops=True) as wakeups:
        await fall_asleep(wakeups)
        await enqueue_one(store)
        assert not await wakeups.wait(0.2)
        await (store if here else other).cancel([job])
        assert await woken(wakeups)
