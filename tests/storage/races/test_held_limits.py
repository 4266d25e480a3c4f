"""Meetings under limits: one call takes or frees slots, not yet committed, while another needs some.

On PostgreSQL a slot that one call is about to take or to free is passed over by others, which do not wait for
it; on SQLite every call waits for the file, and sees what was left.
"""

import asyncio

from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tests.storage.races.blocked_processes import PATIENCE
from tests.storage.races.record_check import faults
from tests.storage.races.requests import claims, settles, turns
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import claim, enqueue_one, settle, succeeded

API = Limit("api", size=3)
DISK = Limit("disk")


async def in_line(store: Store, number: int, *limits: Limit) -> None:
    await store.enqueue([NewJob(definition="mail", limits=limits) for _ in range(number)])


async def held(store: Store) -> dict[str, int]:
    return {use.name: use.held for use in await store.limits()}


async def test_two_claims_at_once_do_not_both_take_the_last_place(store: Store, stage: Stage) -> None:
    """One still runs from when the limit was larger, so there is room for one more, and not for two."""
    await in_line(store, 9, Limit("api", size=5))
    running = await claim(store, limit=5)
    await store.set_limit("api", 2)
    await settle(store, [succeeded(owned) for owned in running[:4]])
    await stage.meet(claims("a", 1), claims("b", 1), passes=True)
    assert await held(store) == {"api": 2}


async def test_a_claim_has_the_slots_that_another_leaves(store: Store, stage: Stage) -> None:
    """Both want more than there are; two are being taken, so there is one."""
    await in_line(store, 9, API)

    first, second = await stage.meet(claims("a", 2), claims("b", 9), passes=True)

    assert (len(first.claimed), len(second.claimed)) == (2, 1)
    assert await held(store) == {"api": 3}
    assert await claim(store, "c") == []
    assert await faults(stage.backend) == []


async def test_who_misses_one_of_two_slots_takes_neither_and_waits_for_nobody(
    store: Store, stage: Stage
) -> None:
    """The disk's only slot is being taken: no job that needs it starts, and none sits on the other limit."""
    await in_line(store, 2, DISK)
    await in_line(store, 2, API, DISK)
    unlimited = await enqueue_one(store, priority=-1)

    first, second = await stage.meet(claims("a", 1), claims("b", 9), passes=True)

    assert len(first.claimed) == 1
    assert [one.lease.job for one in second.claimed] == [unlimited]
    assert (await held(store))["disk"] == 1
    await in_line(store, 9, API)
    free = API.size - (await held(store))["api"]
    assert len((await stage.bob.ask(claims("b", 9))).answer.claimed) == free
    assert await faults(stage.backend) == []


async def test_a_slot_is_free_once_the_attempt_that_had_it_is_committed(store: Store, stage: Stage) -> None:
    """No sooner, for the attempt could still be running after all; and then for one."""
    await in_line(store, 3, DISK)
    [owned] = await claim(store, "a", limit=1)

    settled, turn = await stage.meet(settles("a", [succeeded(owned)]), claims("b"), passes=True)

    assert settled.settled.lost == ()
    assert len(turn.claimed) == (1 if stage.backend.kind == "sqlite" else 0)
    again = (await stage.bob.ask(claims("b"))).answer
    assert len(turn.claimed) + len(again.claimed) == 1
    assert await held(store) == {"disk": 1}


async def test_slots_that_are_being_passed_on_are_nobody_elses(store: Store, stage: Stage) -> None:
    """All of them go from jobs that end to jobs that begin; on none of them does it show."""
    await in_line(store, 9, API)
    owned = (await stage.alice.ask(claims("a", 3))).answer.claimed

    turn, other = await stage.meet(turns("a", map(succeeded, owned), 3), claims("b"), passes=True)

    assert turn.settled.lost == ()
    assert (len(turn.claimed), len(other.claimed)) == (3, 0)
    assert await held(store) == {"api": 3}
    assert await faults(stage.backend) == []


async def test_slots_of_a_claim_that_came_to_nothing_are_free_again(store: Store, stage: Stage) -> None:
    """Its process died before the commit."""
    await in_line(store, 9, API)
    await stage.alice.hold(claims("a", 2))
    stage.alice.leave()
    taken = 0
    async with asyncio.timeout(PATIENCE):
        while taken < API.size:
            taken += len((await stage.bob.ask(claims("b", 9))).answer.claimed)
    assert await held(store) == {"api": API.size}


async def test_who_gives_slots_back_may_keep_them_though_all_others_are_being_taken(
    store: Store, stage: Stage
) -> None:
    """A worker's turn passes its slots, one under each limit, on to its next job, and waits for no lock."""
    await in_line(store, 9, API, Limit("net", size=2))
    [owned] = (await stage.bob.ask(claims("b", 1))).answer.claimed

    first, turn = await stage.meet(claims("a", 9), turns("b", [succeeded(owned)], 9), passes=True)

    assert turn.settled.lost == ()
    assert (len(first.claimed), len(turn.claimed)) == (1, 1)
    assert await held(store) == {"api": 2, "net": 2}
    assert await faults(stage.backend) == []
