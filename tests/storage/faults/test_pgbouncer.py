"""Behind a pgbouncer in transaction mode."""

import asyncio
from collections.abc import Iterator

import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line, Order, Progress, Pulse
from tenure.core.model.outcome import Report
from tenure.core.model.states import State
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.clock import START, Clock
from tests.storage.faults.conftest import TIMEOUT, Opener
from tests.storage.faults.outages import BOUND, outage, outages, recovered
from tests.storage.faults.pgbouncer import pgbouncer
from tests.storage.postgres.lock_waits import until_waiting
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    found,
    hold_together,
    path_of,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)

CALLERS = 12


@pytest.fixture
def pooler(backend: PostgresBackend) -> Iterator[str]:
    """Where a pgbouncer with two connections to the database listens."""
    with pgbouncer(backend.dsn, pool_size=2) as dsn:
        yield dsn


@pytest.fixture
async def pooled(pooler: str, opened: Opener) -> PostgresStore:
    """A store behind the pooler, with more connections to it than it has itself."""
    return await opened(pooler, pooled=True, connections=CALLERS, timeout=BOUND)


async def live(store: Store, worker: str) -> None:
    """Take jobs of one caller through every verb that names its jobs."""
    line = [Line("default", worker)]
    held = await enqueue_one(store, worker, hold=True, key=worker)
    assert await enqueue_one(store, worker, key=worker) == held
    unwanted = await enqueue_one(store, worker, priority=-1)
    assert [standing.state for standing in await store.accept([held])] == [State.QUEUED]
    assert [standing.state for standing in await store.cancel([unwanted])] == [State.CANCELLED]

    [owned] = await claim(store, worker, lines=line)
    assert (await store.hand_back(worker, unstarted=[owned.lease], killed=[])).lost == []
    [owned] = await claim(store, worker, lines=line)
    half = {owned.lease: Progress(0.5)}
    assert (await store.heartbeat(Pulse(worker=worker, leases=[owned.lease], progress=half))).kept
    assert (await settle(store, [recoverable(owned, seconds(0))], worker)).lost == []
    assert [standing.moved for standing in await store.reschedule([held], delay=seconds(5))] == [True]
    assert [standing.moved for standing in await store.give_up([held])] == [True]

    assert (await found(store, held)).state is State.RETRYING
    assert hold_together(await store.events(held))
    assert len(await store.attempts(held)) == 2


async def test_every_verb_works_for_several_callers_at_once(
    pooled: PostgresStore, clock: Clock, backend: PostgresBackend
) -> None:
    """Twelve callers on two connections to the server, which change with every statement."""
    assert await pooled.migrate() == []
    await pooled.verify()
    assert await pooled.now() == START
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*(live(pooled, f"caller-{n}") for n in range(CALLERS)))

    assert {moved.target for moved in await pooled.promote(100)} == {State.FAILED}
    job = await enqueue_one(pooled)
    await claim(pooled)
    await clock.advance(seconds(60))
    assert [moved.job for moved in await pooled.reap(100)] == [job]
    assert await path_of(pooled, job) == ["queued", "started", "orphaned"]


async def test_many_enqueue_and_work_off_without_doing_anything_twice(pooled: PostgresStore) -> None:
    answers = await asyncio.gather(*(pooled.enqueue([NewJob(definition="mail")] * 10) for _ in range(20)))
    jobs = {answer.id for batch in answers for answer in batch}

    ran = [
        job for worked in await asyncio.gather(*(_work_off(pooled, n) for n in range(6))) for job in worked
    ]

    assert len(ran) == 200
    assert set(ran) == jobs


async def _work_off(store: Store, number: int) -> list[object]:
    order, reports, ran = Order(worker=f"w-{number}", lines=(MAIL,), limit=7), list[Report](), list[object]()
    while (turn := await store.settle_and_claim(reports, order)).claimed or reports:
        assert turn.settled.lost == []
        ran += [owned.lease.job for owned in turn.claimed]
        reports = [succeeded(owned) for owned in turn.claimed]
    return ran


async def test_a_pooler_whose_connections_are_all_taken(
    pooled: PostgresStore,
    pooler: str,
    opened: Opener,
    backend: PostgresBackend,
    foreign: asyncpg.Connection,
) -> None:
    """Other callers reach the pooler, but it has no connection free; they get an error in time."""
    other = await opened(pooler, pooled=True, timeout=TIMEOUT)
    jobs = [await enqueue_one(pooled) for _ in range(2)]
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    holding = [asyncio.create_task(pooled.cancel([job])) for job in jobs]
    await until_waiting(backend, 2)

    await outages(*(other.now() for _ in range(5)))

    await foreign.execute("ROLLBACK")
    assert [(await call)[0].state for call in holding] == [State.CANCELLED, State.CANCELLED]
    await recovered(other)


async def test_an_address_can_ask_for_it(pooler: str) -> None:
    store = store_for(f"{pooler}?pooled=true")
    await store.open()
    job = await enqueue_one(store)
    assert await state_of(store, job) is State.QUEUED
    await store.close()


@pytest.mark.parametrize("setting", ["", "?pooled=false"])
async def test_who_does_not_ask_for_it_learns_at_once(pooler: str, setting: str) -> None:
    """A direct store sets how plans are made, which a pooler does not pass on; the error says what to do."""
    end = await outage(store_for(f"{pooler}{setting}").open())
    assert not end.unknown
    assert "pooled=true" in str(end)
