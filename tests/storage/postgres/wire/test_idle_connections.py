"""Idle connections kept between statements: used again at once, and never withheld from a waiting caller."""

import asyncio

import pytest

from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire import connections
from tenure.storage.postgres.wire.pool import Connection
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import enqueue_one, state_of


async def server_process(connection: Connection) -> int:
    """The id of the server process behind a connection."""
    number: int = await connection.fetchval("SELECT pg_backend_pid()")
    return number


async def test_statements_in_a_row_share_a_connection(store: PostgresStore) -> None:
    served = {await store._pool.run_task(server_process) for _ in range(5)}
    assert len(served) == 1


async def test_a_connection_that_was_idle_for_too_long_is_not_used_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firewall on the way may have dropped it."""
    before = await store._pool.run_task(server_process)
    monkeypatch.setattr(connections, "IDLE_FOR", 0)
    assert await store._pool.run_task(server_process) != before


async def test_who_waits_for_a_connection_gets_the_next_that_is_free(backend: PostgresBackend) -> None:
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    job = await enqueue_one(store)
    is_free = asyncio.Event()

    async def hold(_: Connection) -> None:
        await is_free.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(store._pool.run_task(hold))
        waiting = [group.create_task(state_of(store, job)) for _ in range(3)]
        await asyncio.wait(waiting, timeout=0.01)
        is_free.set()
    assert len({task.result() for task in waiting}) == 1
    await store.close()
