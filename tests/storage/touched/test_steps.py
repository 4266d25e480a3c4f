"""What it costs to keep a step, to sleep and to go on does not grow with what the job has kept before.

By the database's own count. A job may keep ten thousand steps; a loop that forgets what it has done with may
take thousands of turns.
"""

from collections.abc import Awaitable, Callable

from tenure.core.model.durable import Forgotten, Keeping, StepKind, Suspension
from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.durable_verbs import done, sleep
from tests.storage.touched.conftest import Make
from tests.storage.touched.cost import Costs, grown
from tests.storage.touched.history import REPORT, Past, PastBackend
from tests.storage.verbs import claim, seconds
from tests.whole import IS_WHOLE

FEW, MANY = 10, 9_990 if IS_WHOLE else 3_000
"""Steps; 10,000 is what a job may keep."""

TURNS = 2_000 if IS_WHOLE else 150
HOUR = seconds(3600)

Verb = Callable[[Store, Lease], Awaitable[object]]


async def kept_once_more(store: Store, lease: Lease) -> object:
    return await store.keep_steps("a", [(lease, done("one more"))])


async def suspended(store: Store, lease: Lease) -> object:
    return await store.suspend("a", [Suspension(lease, sleep(step="sleep:one more"))])


async def saved(store: Store, lease: Lease) -> object:
    return await store.save_checkpoints("a", [(lease, Document("{}"))])


async def recalled(store: Store, lease: Lease) -> object:
    return await store.recall("a", lease)


async def test_what_a_step_touches_does_not_grow_with_the_steps_before_it(make: Make) -> None:
    """S0.7: so ten thousand steps of one job are linear."""
    backend, scene = await make(Past(2_000))
    few, many, *_ = scene.leases
    store = backend.store()
    await store.open()
    for lease, count in ((few, FEW), (many, MANY)):
        for n in range(0, count, 500):
            drafts = [(lease, done(f"step {number}")) for number in range(n, min(n + 500, count))]
            assert set(await store.keep_steps("a", drafts)) == {Keeping.KEPT}
    await store.close()
    await backend.settle_down()
    for way in dict.fromkeys(backend.ways.values()):
        for verb in (kept_once_more, suspended, saved):
            assert grown(await _cost(backend, way, verb, few), await _cost(backend, way, verb, many)) == {}


async def test_what_a_turn_touches_does_not_grow_with_the_turns_before_it(make: Make) -> None:
    """S2.30: step, forget, sleep, and the next claim with all that is recalled, again and again."""
    backend, scene = await make(Past(2_000))
    store = backend.store()
    await store.open()
    lease = scene.leases[0]
    lease = await _turn(backend, store, lease, 0)
    await backend.settle_down()
    first = await _costs_of_a_turn(backend, lease)
    for n in range(1, TURNS):
        lease = await _turn(backend, store, lease, n)
    await store.close()
    await backend.settle_down()
    assert grown(first, await _costs_of_a_turn(backend, lease)) == {}


async def _turn(backend: PastBackend, store: Store, lease: Lease, n: int) -> Lease:
    """Keep that the last sleep is over, and a step; forget both, and sleep until the next turn."""
    drafts = [done(f"step {n}"), *([done(f"sleep:{n - 1}", None, kind=StepKind.SLEEP)] if n else [])]
    assert set(await store.keep_steps("a", [(lease, draft) for draft in drafts])) == {Keeping.KEPT}
    assert isinstance(await store.forget_steps("a", lease, "", Document(f'{{"turn":{n}}}')), Forgotten)
    told = await store.suspend("a", [Suspension(lease, sleep(seconds(1), f"sleep:{n}"))])
    assert told == {lease: State.SUSPENDED}
    await backend.clock.advance(seconds(2))
    assert lease.job in {moved.job for moved in await store.promote(100)}
    return next(
        one.lease
        for one in await claim(store, "a", 100, lines=[REPORT], lease_for=HOUR)
        if one.lease.job == lease.job
    )


async def _costs_of_a_turn(backend: PastBackend, lease: Lease) -> Costs:
    costs: Costs = {}
    way = next(iter(backend.ways.values()))
    for verb in (recalled, kept_once_more, suspended):
        costs |= await _cost(backend, way, verb, lease)
    return costs


async def _cost(backend: PastBackend, way: str, verb: Verb, lease: Lease) -> Costs:
    async with backend.watched(way) as (watched, so_far):
        so_far.clear()
        assert await verb(watched, lease)
        return dict(so_far)
