"""Locks: no verb waits for an unrelated job, and none waits in a circle."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Order, Progress, Pulse
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.schema import statements
from tests.storage.backends import PostgresBackend
from tests.storage.clock import START, Clock
from tests.storage.postgres.lock_waits import PATIENCE, deadlocks, until_waiting
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    found,
    hold_together,
    line,
    note,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
    trail,
)


async def lock(foreign: asyncpg.Connection, table: str, job: UUID) -> None:
    """Let the foreign transaction hold one job's row."""
    column = "id" if table == "job_state" else "job"
    locked = await foreign.fetch(f"SELECT FROM tenure.{table} WHERE {column} = $1 FOR UPDATE", job)
    assert len(locked) == 1


async def claim_the_rest(store: Store) -> set[UUID]:
    """Claim twice: the first may begin behind what it passed over; once it fell short, the next may not."""
    return {claimed.lease.job for _ in range(2) for claimed in await claim(store)}


@pytest.mark.parametrize("table", ["job_state", "ready"])
async def test_a_claim_passes_over_a_locked_job(
    store: Store, foreign: asyncpg.Connection, table: str
) -> None:
    """S0.66, S0.68, S1.22: it takes the next ones instead of waiting, and the locked one another time."""
    jobs = [await enqueue_one(store) for _ in range(12)]
    await lock(foreign, table, jobs[1])

    async with asyncio.timeout(PATIENCE):
        claimed = await claim(store, limit=10)

    free = [job for job in jobs if job != jobs[1]]
    assert [one.lease.job for one in claimed] == free[:10]
    await foreign.execute("ROLLBACK")
    assert await claim_the_rest(store) == {jobs[1], jobs[11]}


async def test_a_claim_of_one_passes_over_a_locked_job(store: Store, foreign: asyncpg.Connection) -> None:
    """S0.66, S1.14: the job behind it is as good."""
    locked, following = await enqueue_one(store), await enqueue_one(store)
    await lock(foreign, "job_state", locked)
    async with asyncio.timeout(PATIENCE):
        assert [one.lease.job for one in await claim(store, limit=1)] == [following]
    await foreign.execute("ROLLBACK")
    assert await claim_the_rest(store) == {locked}


async def test_a_promotion_passes_over_a_locked_job(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """What is due and free moves on; what is locked moves on later."""
    jobs = [await enqueue_one(store, delay=seconds(n)) for n in (1, 2, 3)]
    await clock.advance(seconds(3))
    await lock(foreign, "job_state", jobs[0])

    async with asyncio.timeout(PATIENCE):
        assert [moved.job for moved in await store.promote(10)] == jobs[1:]
    await foreign.execute("ROLLBACK")
    assert [moved.job for moved in await store.promote(10)] == [jobs[0]]


async def test_the_reaper_comes_back_for_a_locked_job(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """S3.50: the rest of the lease is taken at once, and the lease is not forgotten."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    await lock(foreign, "job_state", jobs[1])

    async with asyncio.timeout(PATIENCE):
        assert {moved.job for moved in await store.reap(10)} == {jobs[0], jobs[2]}
    await foreign.execute("ROLLBACK")
    assert [moved.job for moved in await store.reap(10)] == [jobs[1]]


async def test_reading_does_not_wait(store: Store, foreign: asyncpg.Connection) -> None:
    """S4.42: plain reads see the last committed state, even of a locked row."""
    job = await enqueue_one(store)
    await lock(foreign, "job_state", job)
    async with asyncio.timeout(PATIENCE):
        assert (await found(store, job)).state is State.QUEUED
        assert len(await store.events(job)) == 1


async def _cancel(store: Store, batch: Sequence[Claimed]) -> None:
    await store.cancel([claimed.lease.job for claimed in batch])


async def _settle(store: Store, batch: Sequence[Claimed]) -> None:
    await settle(store, [succeeded(claimed) for claimed in batch])


async def _hand_back(store: Store, batch: Sequence[Claimed]) -> None:
    leases = [claimed.lease for claimed in batch]
    await store.hand_back("a", unstarted=leases[::2], killed=leases[1::2])


async def _heartbeat(store: Store, batch: Sequence[Claimed]) -> None:
    leases = [claimed.lease for claimed in batch]
    await store.heartbeat(Pulse(worker="a", leases=leases, progress=dict.fromkeys(leases, Progress(0.5))))


async def _record(store: Store, batch: Sequence[Claimed]) -> None:
    await store.record("a", [trail(claimed, line(1), note()) for claimed in batch])


async def _spawn(store: Store, batch: Sequence[Claimed]) -> None:
    for claimed in batch:
        await store.spawn("a", claimed.lease, [NewJob(definition="child")])


Verb = Callable[[Store, Sequence[Claimed]], Awaitable[None]]


WAITING = (_cancel, _settle, _hand_back, _spawn)


@pytest.mark.parametrize("second", WAITING)
@pytest.mark.parametrize("first", WAITING)
async def test_nobody_waits_in_a_circle(
    backend: PostgresBackend, foreign: asyncpg.Connection, first: Verb, second: Verb
) -> None:
    """Two verbs go through the same jobs from opposite ends and are held up in the middle, both of them.

    A verb that locks in the given order meets the other one there. The server's count is read, since a
    deadlock that was retried would not show otherwise.
    """
    before = await deadlocks(backend, beside=1)
    one, two = backend.store(), backend.store()
    await one.open()
    await two.open()
    await one.enqueue([NewJob(definition="mail") for _ in range(21)])
    batch = await claim(one, limit=21)
    await lock(foreign, "job_state", batch[10].lease.job)

    async with asyncio.timeout(PATIENCE):
        async with asyncio.TaskGroup() as both:
            both.create_task(_run(first, one, batch))
            await until_waiting(backend, 1)
            both.create_task(_run(second, two, batch[::-1]))
            await until_waiting(backend, 2)
            await foreign.execute("ROLLBACK")
    for claimed in batch:
        assert hold_together(await one.events(claimed.lease.job))
    await one.close()
    await two.close()
    await foreign.close()
    assert await deadlocks(backend) == before


@pytest.mark.parametrize("passing", [_heartbeat, _record])
@pytest.mark.parametrize("waiting", WAITING)
async def test_a_worker_passes_by_whoever_waits(
    backend: PostgresBackend, foreign: asyncpg.Connection, waiting: Verb, passing: Verb
) -> None:
    """Leases are prolonged and lines are written while another verb holds half of the jobs and waits."""
    one, two = backend.store(), backend.store()
    await one.open()
    await two.open()
    await one.enqueue([NewJob(definition="mail") for _ in range(21)])
    batch = await claim(one, limit=21)
    await lock(foreign, "job_state", batch[10].lease.job)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as both:
        both.create_task(_run(waiting, one, batch))
        await until_waiting(backend, 1)
        await passing(two, batch[::-1])
        await foreign.execute("ROLLBACK")
    for claimed in batch:
        assert hold_together(await one.events(claimed.lease.job))
    await one.close()
    await two.close()


async def _run(verb: Verb, store: Store, batch: Sequence[Claimed]) -> None:
    await verb(store, batch)


async def test_a_settlement_held_up_until_its_lease_has_ended_and_a_reaper(
    store: Store, backend: PostgresBackend, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """S0.61, S3.49: the reaper passes over what is being settled; each job has one ending."""
    await store.enqueue([NewJob(definition="mail", policy=Policy(max_attempts=1)) for _ in range(9)])
    batch = await claim(store, lease_for=seconds(30))
    await lock(foreign, "job_state", batch[4].lease.job)

    async with asyncio.timeout(PATIENCE):
        settling = asyncio.create_task(settle(store, [succeeded(claimed) for claimed in reversed(batch)]))
        await until_waiting(backend, 1)
        await clock.advance(seconds(30))
        reaped = await store.reap(10)
        await foreign.execute("ROLLBACK")
        settled = await settling
        reaped += await store.reap(10)

    assert sorted(moved.job for moved in reaped) == sorted(lease.job for lease in settled.lost)
    assert len(settled.accepted) + len(settled.lost) == 9
    for claimed in batch:
        is_settled = claimed.lease in settled.accepted
        assert await state_of(store, claimed.lease.job) is (State.SUCCEEDED if is_settled else State.FAILED)
        assert hold_together(await store.events(claimed.lease.job))


@pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])
async def test_heartbeats_of_one_worker_do_not_wait_in_a_circle(
    store: Store, backend: PostgresBackend, pooled: bool
) -> None:
    """Each prolongs a lease of its own and would sweep away those of the others, which are spent.

    A pooled store plans anew for each call, and may read the answer's parts in another order.
    """
    before = await deadlocks(backend, beside=1)
    others = [PostgresStore(backend.dsn, pooled=pooled) for _ in range(4)]
    await asyncio.gather(*(other.open() for other in others))
    for _ in range(10):
        await store.enqueue([NewJob(definition="mail") for _ in range(16)])
        owned = [(await claim(store, limit=1))[0] for _ in range(16)]
        await settle(store, [succeeded(one) for one in owned])
        turns = zip(owned, others * 4, strict=True)
        await asyncio.gather(*(one.heartbeat(Pulse(worker="a", leases=[it.lease])) for it, one in turns))
    await asyncio.gather(*(opened.close() for opened in (store, *others)))
    assert await deadlocks(backend) == before


async def test_a_promotion_of_one_passes_over_a_locked_job(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """S4.40: another transaction holds the first job that is due; the next one is as good."""
    jobs = [await enqueue_one(store, delay=seconds(n + 1)) for n in range(3)]
    await clock.advance(seconds(10))
    await lock(foreign, "job_state", jobs[0])
    async with asyncio.timeout(PATIENCE):
        assert [moved.job for moved in await store.promote(1)] == [jobs[1]]


@pytest.mark.parametrize("verb", [_cancel, _settle, _hand_back, _record])
async def test_a_history_does_not_run_backwards_for_who_had_to_wait(
    store: Store, backend: PostgresBackend, verb: Callable[[Store, Sequence[Claimed]], Awaitable[None]]
) -> None:
    """A statement's time is when it began; what it waited for may have begun, and been recorded, later."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await backend.sql("UPDATE tenure.job_state SET updated_at = updated_at + interval '5 seconds'")
    await verb(store, [claimed])
    last = (await store.events(job))[-1]
    assert last.at == START + seconds(5)
    assert (await found(store, job)).updated_at == last.at


async def test_progress_that_had_to_wait_does_not_set_the_time_back(
    store: Store, backend: PostgresBackend
) -> None:
    """The next step is dated by the last one, and may itself have begun before it."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await backend.sql("UPDATE tenure.job_state SET updated_at = updated_at + interval '5 seconds'")
    await _heartbeat(store, [claimed])
    assert (await found(store, job)).updated_at == START + seconds(5)


async def test_giving_up_does_not_set_the_time_back(store: Store, backend: PostgresBackend) -> None:
    """As above; but the job fails at once."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await settle(store, [recoverable(claimed)])
    await backend.sql("UPDATE tenure.job_state SET updated_at = updated_at + interval '5 seconds'")
    await store.give_up([job])
    assert (await found(store, job)).updated_at == START + seconds(5)
    assert [moved.target for moved in await store.promote(10)] == [State.FAILED]
    assert hold_together(await store.events(job))


async def test_a_turn_that_waits_to_settle_has_claimed_nothing_yet(
    store: Store, foreign: asyncpg.Connection, backend: PostgresBackend
) -> None:
    """Settling may wait for a lock, so it comes first: the turn holds no other jobs meanwhile."""
    mine = await enqueue_one(store)
    [owned] = await claim(store)
    free = await enqueue_one(store)
    await lock(foreign, "job_state", mine)
    order = Order(worker="a", lines=(MAIL,), limit=1)
    turn = asyncio.create_task(store.settle_and_claim([succeeded(owned)], order))
    await until_waiting(backend, 1)

    other = PostgresStore(backend.dsn)
    await other.open()
    assert [one.lease.job for one in await claim(other, worker="b")] == [free]
    await other.close()

    await foreign.execute("ROLLBACK")
    assert (await turn).settled.accepted == {owned.lease: State.SUCCEEDED}


async def test_nobody_takes_a_job_from_its_owner_while_its_children_are_recorded(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """S0.14: the first statement of `spawn` holds the job until its transaction ends."""
    job = await enqueue_one(store)
    [owned] = await claim(store, lease_for=seconds(30))
    text, names = statements.numbered(statements.load("tenure.storage.postgres")["spawn"])
    values = {"job": job, "fence": owned.lease.fence, "worker": "a"}
    assert len(await foreign.fetch(text, *(values[name] for name in names))) == 1
    await clock.advance(seconds(30))
    async with asyncio.timeout(PATIENCE):
        assert await store.reap(10) == []
    await foreign.execute("ROLLBACK")
    assert [moved.job for moved in await store.reap(10)] == [job]
