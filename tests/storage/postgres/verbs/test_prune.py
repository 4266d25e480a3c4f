"""Pruning beside other transactions: locked jobs are left for another time."""

import asyncio
from datetime import timedelta

import asyncpg

from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.postgres.lock_waits import PATIENCE
from tests.storage.verbs import enqueue_one, jobs_and_next, seconds

EVERYTHING = Retention(succeeded=timedelta(0), others=timedelta(0), keyed=timedelta(0))


async def test_pruning_passes_over_a_locked_job(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """It neither waits for it nor forgets it."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    await store.cancel(jobs)
    await clock.advance(seconds(1))
    await foreign.execute("SELECT FROM tenure.job_state WHERE id = $1 FOR UPDATE", jobs[1])
    async with asyncio.timeout(PATIENCE):
        assert jobs_and_next(await store.prune(EVERYTHING)) == (2, None)
    await foreign.execute("ROLLBACK")
    assert await store.get(jobs[1]) is not None
    assert jobs_and_next(await store.prune(EVERYTHING)) == (1, None)


async def test_pruning_waits_for_no_open_transaction(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """A transaction that read a job before it was pruned still reads it."""
    job = await enqueue_one(store)
    await store.cancel([job])
    await clock.advance(seconds(1))
    await foreign.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert await foreign.fetchval("SELECT count(*) FROM tenure.job") == 1
    async with asyncio.timeout(PATIENCE):
        assert jobs_and_next(await store.prune(EVERYTHING)) == (1, None)
    assert await foreign.fetchval("SELECT count(*) FROM tenure.event") == 1
    assert await store.get(job) is None


async def test_what_two_verbs_that_met_left_behind_goes_with_the_job(
    store: Store, foreign: asyncpg.Connection, clock: Clock
) -> None:
    """A place in line or a timer of a job that is gone would never be cleared, and be looked at for ever."""
    await store.cancel([await enqueue_one(store)])
    await foreign.execute("""
        INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM tenure.job_state""")
    await foreign.execute("""
        INSERT INTO tenure.timer (due_at, job, kind) SELECT updated_at, id, 'hold' FROM tenure.job_state""")
    await foreign.execute("COMMIT")
    await clock.advance(seconds(1))
    assert (await store.prune(EVERYTHING)).jobs == 1
    for table in ("ready", "timer"):
        assert await foreign.fetchval(f"SELECT count(*) FROM tenure.{table}") == 0
