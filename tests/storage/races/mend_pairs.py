"""Pairs with mending: a job whose rows were changed by hand is mended once, or moved by the other call."""

from typing import Any
from uuid import UUID

from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tests.storage.races.collision import BATCH, Collision, Ground, Pair, claimed_by, jobs_of
from tests.storage.races.requests import cancels, claims, mends, mends_slots, promotes
from tests.storage.verbs import claim, seconds, settle, succeeded

BOX = Limit("box", size=BATCH)


async def without(ground: Ground, table: str, column: str, value: object) -> None:
    """Remove a row by hand."""
    await ground.backend.sql(f"DELETE FROM tenure.{table} WHERE {column} = '{value}'")


async def put_away(ground: Ground) -> None:
    """End all that stands in line or runs, so that the next round begins anew."""
    while owned := await claim(ground.store, "z", 100):
        await settle(ground.store, map(succeeded, owned), "z")


async def mending_a_place_and_cancelling(ground: Ground) -> Collision:
    """Mended or not: the job is cancelled, and no claim finds it in line."""
    jobs = await ground.enqueue()
    missing = ground.chance.choice(jobs)
    await without(ground, "ready", "job", missing)

    def agree(one: Any, two: Any) -> bool:
        return one.moved == (one.state is State.QUEUED) and all(it.state is State.CANCELLED for it in two)

    async def afterwards(_one: Any, _two: Any) -> None:
        assert await claim(ground.store, "z", 100) == []

    return Collision(mends("place", missing), cancels(ground.shuffled(jobs)), agree, afterwards)


async def mending_a_place_and_claiming(ground: Ground) -> Collision:
    """The job is mended, and claimed once: by this claim or the next."""
    jobs = await ground.enqueue()
    missing = ground.chance.choice(jobs)
    await without(ground, "ready", "job", missing)

    def agree(one: Any, _two: Any) -> bool:
        return bool(one.moved)

    async def afterwards(_one: Any, two: Any) -> None:
        taken = claimed_by(two)
        await settle(ground.store, [succeeded(it) for it in two.claimed], "b")
        rest: list[UUID] = []
        while owned := await claim(ground.store, "z", 100):
            rest += [it.lease.job for it in owned]
            await settle(ground.store, map(succeeded, owned), "z")
        assert sorted([*taken, *rest]) == sorted(jobs)

    return Collision(mends("place", missing), claims("b"), agree, afterwards)


async def mending_a_timer_and_promoting(ground: Ground) -> Collision:
    """It is mended once, and promoted once: by this promotion or the next."""
    jobs = await ground.enqueue(delay=seconds(10))
    missing = ground.chance.choice(jobs)
    await without(ground, "timer", "job", missing)

    def agree(one: Any, two: Any) -> bool:
        return bool(one.moved) and jobs_of(two) >= set(jobs) - {missing}

    async def afterwards(_one: Any, two: Any) -> None:
        later = jobs_of(await ground.store.promote(100))
        assert jobs_of(two) | later == set(jobs)
        assert jobs_of(two).isdisjoint(later)
        await put_away(ground)

    return Collision(mends("timer", missing), promotes(at=ground.later(10)), agree, afterwards)


async def two_mends_of_a_lease(ground: Ground) -> Collision:
    """One of them takes the job, and the other finds it in line."""
    batch = await ground.owned()
    lost = ground.chance.choice(batch).lease
    await without(ground, "lease", "id", lost.fence)

    def agree(one: Any, two: Any) -> bool:
        return one.moved != two.moved and one.state is two.state is State.QUEUED

    async def afterwards(_one: Any, _two: Any) -> None:
        await settle(ground.store, map(succeeded, batch))
        for it in batch:
            await ground.store.mend_lease(it.lease.job)
        await put_away(ground)

    return Collision(mends("lease", lost.job), mends("lease", lost.job), agree, afterwards)


async def mending_slots_and_claiming(ground: Ground) -> Collision:
    """Never more run than the limit allows, and in the end exactly so many."""
    jobs = await ground.enqueue(limits=(BOX,)) + await ground.enqueue(limits=(BOX,))
    owned = await claim(ground.store, "a", BATCH // 2)
    await ground.backend.sql(
        f"UPDATE tenure.limited SET held = {BATCH // 2 + 5} WHERE name = 'box'"
        if ground.backend.kind == "sqlite"
        else f"UPDATE tenure.slot SET is_held = true WHERE n BETWEEN {BATCH // 2 + 1} AND {BATCH // 2 + 5}"
    )

    def agree(one: Any, two: Any) -> bool:
        return one == (5, 0) and len(two.claimed) <= BATCH // 2

    async def afterwards(_one: Any, two: Any) -> None:
        await ground.store.resume("default")
        rest = await claim(ground.store, "c", 100)
        assert len(owned) + len(two.claimed) + len(rest) == BATCH < len(jobs)
        for worker, some in (("a", owned), ("b", two.claimed), ("c", rest)):
            await settle(ground.store, map(succeeded, some), worker)
        await put_away(ground)

    return Collision(mends_slots("box"), claims("b", 100), agree, afterwards)


PAIRS: tuple[Pair, ...] = (
    mending_a_place_and_cancelling,
    mending_a_place_and_claiming,
    mending_a_timer_and_promoting,
    two_mends_of_a_lease,
    mending_slots_and_claiming,
)
