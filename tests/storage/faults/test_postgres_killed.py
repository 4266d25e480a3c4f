"""Connections that the server ends, idle or in use; statements that are cancelled on the server."""

import asyncio

import asyncpg
import pytest

from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.faults.conftest import Opener
from tests.storage.faults.outages import BOUND, outage, recovered
from tests.storage.postgres.lock_waits import until_waiting
from tests.storage.verbs import claim, enqueue_one, hold_together, settle, state_of, succeeded


@pytest.fixture
async def store(backend: PostgresBackend, opened: Opener) -> PostgresStore:
    """A store with a long timeout: no test here waits for it."""
    return await opened(backend.dsn, timeout=10 * BOUND)


async def signal_waiting(backend: PostgresBackend, function: str) -> None:
    """Have the server signal every process that waits for a lock."""
    signalled = await backend.sql(f"""
        SELECT {function}(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'""")
    assert signalled == [(True,)]


async def test_idle_connections_that_were_killed_are_replaced(
    store: PostgresStore, backend: PostgresBackend
) -> None:
    """S0.5: all of them at once, and nothing that was recorded is lost."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    await asyncio.gather(*(store.now() for _ in range(10)))
    killed = await backend.sql("""
        SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()""")
    assert len(killed) > 1
    await recovered(store)
    assert [owned.lease.job for owned in await claim(store)] == jobs


@pytest.mark.parametrize(
    ("function", "unknown"), [("pg_terminate_backend", True), ("pg_cancel_backend", False)]
)
async def test_a_statement_that_was_killed_did_nothing_and_may_be_repeated(
    store: PostgresStore, backend: PostgresBackend, foreign: asyncpg.Connection, function: str, unknown: bool
) -> None:
    """A server that cancels a statement says that it was undone; one that ends a connection does not."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    call = asyncio.create_task(settle(store, [succeeded(owned)]))
    await until_waiting(backend, 1)

    await signal_waiting(backend, function)

    assert (await outage(call)).unknown is unknown
    await foreign.execute("ROLLBACK")
    assert await state_of(store, job) is State.RUNNING
    assert (await settle(store, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}
    assert hold_together(await store.events(job))
