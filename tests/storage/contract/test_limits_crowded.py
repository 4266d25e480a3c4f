"""Limits with little room or many keys: a claim still takes all that it may."""

import random

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store
from tenure.storage.postgres.claims import line_scan
from tests.storage.backends import Backend
from tests.storage.verbs import MAIL, claim, enqueue_one, settle, succeeded
from tests.whole import IS_WHOLE

MANY = line_scan.MOST_REACHED if IS_WHOLE else 2_000
"""How many keys there are: as many lines as one look goes through, on PostgreSQL."""


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> int:
    """So many keys, and a look that goes through no more of them."""
    monkeypatch.setattr(line_scan, "MOST_REACHED", MANY)
    return MANY


async def test_a_turn_passes_a_place_on_under_a_lowered_limit(store: Store, backend: Backend) -> None:
    """One job ends and one begins in the same call, as long as no more run than the new size allows."""
    await store.enqueue([NewJob(definition="mail", limits=(Limit("api", size=3),)) for _ in range(8)])
    running = await claim(store, limit=3)
    await store.set_limit("api", 2)
    await settle(store, [succeeded(running.pop(0))])
    order = Order(worker="a", lines=(MAIL,), limit=5)
    for _ in range(4):
        turn = await store.settle_and_claim([succeeded(running.pop(0))], order)
        assert len(turn.claimed) == 1
        running += turn.claimed
        assert [use.held for use in await store.limits()] == [2]
    if backend.kind == "postgres":
        # A job that starts takes a slot within the size, so that those above it fall out of use.
        assert await backend.sql("SELECT n FROM tenure.slot WHERE n > 2 AND is_held") == []


async def test_urgent_jobs_that_must_wait_do_not_shorten_a_claim(store: Store) -> None:
    """There is room for one of them; the one behind the others is claimed in the same call."""
    urgent = [NewJob(definition="mail", priority=9, limits=(Limit("api"),)) for _ in range(10)]
    await store.enqueue(urgent)
    others = [await enqueue_one(store) for _ in range(3)]
    first, *rest = await claim(store, limit=5)
    assert first.lease.job not in others
    assert [owned.lease.job for owned in rest] == others


async def test_jobs_under_very_many_keys_are_all_found(store: Store) -> None:
    """More of them than a store would look at one by one."""
    tenants = [NewJob(definition="mail", limits=(Limit("tenant", str(n)),)) for n in range(120)]
    for job in (*tenants, NewJob(definition="mail", priority=9)):
        await store.enqueue([job])
    assert (await store.outlook([MAIL])).waiting
    claimed = []
    while more := await claim(store, limit=50):
        claimed += more
    assert len(claimed) == 121
    assert not (await store.outlook([MAIL])).waiting
    await settle(store, [succeeded(owned) for owned in claimed])
    assert {use.held for use in await store.limits()} == {0}


async def test_a_worker_goes_on_claiming_under_very_many_keys(store: Store, many: int) -> None:
    """Every claim is filled while a job waits whose limit has room, and in the end none does."""
    keyed = [NewJob(definition="mail", limits=(Limit("tenant", str(n), size=2),)) for n in range(many)]
    for _ in range(3):
        await store.enqueue(keyed)
    order, ran = Order(worker="a", lines=(MAIL,), limit=100), 0
    turn = await store.settle_and_claim([], order)
    while ran < 3 * many - order.limit:
        assert len(turn.claimed) == order.limit
        ran += len(turn.claimed)
        turn = await store.settle_and_claim([succeeded(owned) for owned in turn.claimed], order)
    while turn.claimed:
        ran += len(turn.claimed)
        turn = await store.settle_and_claim([succeeded(owned) for owned in turn.claimed], order)
    assert ran == 3 * many


async def test_a_claim_is_filled_under_very_many_keys_with_room_for_more_than_wait(
    store: Store, many: int
) -> None:
    """As many lines as one look goes through: behind them it finds none, and begins anew."""
    await store.enqueue(
        [NewJob(definition="mail", limits=(Limit("tenant", str(n), size=10),)) for n in range(many)]
    )
    order = Order(worker="a", lines=(MAIL,), limit=50)
    turn = await store.settle_and_claim([], order)
    for _ in range(3):
        assert len(turn.claimed) == order.limit
        turn = await store.settle_and_claim([succeeded(owned) for owned in turn.claimed], order)
    assert len(turn.claimed) == order.limit


async def test_lines_that_share_a_limit_leave_the_rest_of_a_claim_to_others(store: Store) -> None:
    """More urgent jobs are found than there is room for; the jobs behind them are claimed as well."""
    lines = [Line("default", f"d{n}") for n in range(6)]
    api = (Limit("api", size=3),)
    await store.enqueue(
        [NewJob(definition=line.definition, priority=9, limits=api) for line in lines for _ in range(5)]
    )
    others = [await enqueue_one(store) for _ in range(7)]
    claimed = await claim(store, limit=10, lines=[*lines, MAIL])
    assert len(claimed) == 10
    assert [owned.lease.job for owned in claimed if owned.lease.job in others] == others


@pytest.mark.parametrize("seed", [2, 10, 99])
async def test_nobody_who_was_crowded_out_under_a_shared_limit_waits(store: Store, seed: int) -> None:
    """One claim takes all jobs with room, though others have stood before them that then had none."""
    chance = random.Random(seed)

    def requested() -> NewJob:
        own = [Limit("own", f"k{chance.randrange(20)}", 2)] if chance.random() < 0.8 else []
        shared = [Limit("shared", "", 7)] if chance.random() < 0.4 else []
        priority = chance.choice([0, 0, 1, chance.randrange(-50, 50)])
        return NewJob(definition="mail", limits=(*own, *shared), priority=priority)

    await store.enqueue([requested() for _ in range(66)])

    assert await claim(store, limit=100)
    assert await claim(store, limit=100) == []
