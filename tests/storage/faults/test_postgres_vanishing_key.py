"""Enqueueing in two statements: what may happen between recording jobs and looking up a taken key."""

import asyncio

import asyncpg
import pytest

from tenure.core.model.job import Enqueued, NewJob
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.faults.conftest import Opener
from tests.storage.faults.outages import BOUND, outage
from tests.storage.faults.test_postgres_killed import signal_waiting
from tests.storage.postgres.lock_waits import until_waiting
from tests.storage.postgres.relay import Relay
from tests.storage.postgres.wire.test_shared_statements import hold_key
from tests.storage.verbs import count, enqueue_one
from tests.until import until

Call = asyncio.Task[list[Enqueued]]


@pytest.fixture
async def call(relay: Relay, backend: PostgresBackend, opened: Opener) -> Call:
    """A call with a free job and one whose key is taken; the server has recorded the first.

    The answer is held back on the way, so that the look-up of the key has not been sent yet.
    """
    store: PostgresStore = await opened(relay.dsn, timeout=10 * BOUND)
    # With a tag it takes the statement for several jobs, which is thus prepared before answers are held back.
    await enqueue_one(store, key="taken", tags=("first",))
    relay.stall(questions=False)
    enqueueing = asyncio.create_task(
        store.enqueue([NewJob(definition="mail"), NewJob(definition="mail", key="taken")])
    )
    await until(lambda: backend.sql("SELECT FROM tenure.job OFFSET 1"), BOUND)
    return enqueueing


async def remove_taken(foreign: asyncpg.Connection) -> None:
    """Remove the job that has the key, as no verb of a store would; the guards are disabled for it."""
    await foreign.execute("""
        SET LOCAL session_replication_role = replica;
        DELETE FROM tenure.ready WHERE job IN (SELECT id FROM tenure.job WHERE key = 'taken');
        DELETE FROM tenure.job_state WHERE id IN (SELECT id FROM tenure.job WHERE key = 'taken');
        DELETE FROM tenure.job WHERE key = 'taken';
        COMMIT;
        BEGIN""")


async def test_a_key_that_is_free_again_by_then_is_taken_after_all(
    call: Call, relay: Relay, backend: PostgresBackend, foreign: asyncpg.Connection
) -> None:
    await remove_taken(foreign)
    relay.flow()
    async with asyncio.timeout(BOUND):
        answers = await call
    assert [answer.fresh for answer in answers] == [True, True]
    assert await count(backend, "tenure.job") == await count(backend, "tenure.job_state") == 2


async def test_a_key_that_is_free_again_but_held_leaves_the_call_in_doubt(
    call: Call, relay: Relay, backend: PostgresBackend, foreign: asyncpg.Connection
) -> None:
    """The first job is recorded: that the store was busy, and nothing was written, would be a lie."""
    await remove_taken(foreign)
    await hold_key(foreign, "taken")
    relay.flow()
    assert (await outage(call)).unknown
    await foreign.execute("ROLLBACK")
    assert await count(backend, "tenure.job") == await count(backend, "tenure.ready") == 1


async def test_a_look_up_that_fails_leaves_the_call_in_doubt(
    call: Call, relay: Relay, backend: PostgresBackend, foreign: asyncpg.Connection
) -> None:
    """The server says that the look-up was rolled back, but the first statement was not."""
    await foreign.execute("LOCK TABLE tenure.job IN ACCESS EXCLUSIVE MODE")
    relay.flow()
    await until_waiting(backend, 1)
    await signal_waiting(backend, "pg_cancel_backend")
    assert (await outage(call)).unknown
    await foreign.execute("ROLLBACK")
    assert await count(backend, "tenure.job") == await count(backend, "tenure.ready") == 2


async def test_a_look_up_that_fails_where_nothing_was_recorded_leaves_no_doubt(
    relay: Relay, backend: PostgresBackend, foreign: asyncpg.Connection, opened: Opener
) -> None:
    store: PostgresStore = await opened(relay.dsn, timeout=10 * BOUND)
    await enqueue_one(store, key="taken")
    before = await last_begun(backend)
    relay.stall(questions=False)
    again = asyncio.create_task(enqueue_one(store, key="taken"))

    async def has_begun() -> bool:
        return await last_begun(backend) not in (before, [])

    await until(has_begun, BOUND)
    await foreign.execute("LOCK TABLE tenure.job IN ACCESS EXCLUSIVE MODE")
    relay.flow()
    await until_waiting(backend, 1)
    await signal_waiting(backend, "pg_cancel_backend")
    assert not (await outage(again)).unknown


async def last_begun(backend: PostgresBackend) -> list[tuple[object, ...]]:
    """When the store's connection, if it has nothing to do now, began what it did last."""
    return await backend.sql("""
        SELECT query_start FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle'""")
