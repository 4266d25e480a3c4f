"""Connections that stay at hand between statements: used again at once, and in nobody's way."""

import asyncio

import pytest

from tenure.storage.postgres import pool
from tenure.storage.postgres.pool import Connection
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.telling import enqueue_one, state_of


async def server_process(connection: Connection) -> int:
    """Who serves a connection."""
    number: int = await connection.fetchval("SELECT pg_backend_pid()")
    return number


async def test_statements_in_a_row_share_a_connection(store: PostgresStore) -> None:
    served = {await store._pool.work(server_process) for _ in range(5)}
    assert len(served) == 1


async def test_a_connection_that_was_idle_for_too_long_is_not_used_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something on the way may have forgotten it."""
    before = await store._pool.work(server_process)
    monkeypatch.setattr(pool, "_IDLE_FOR", 0)
    assert await store._pool.work(server_process) != before


async def test_who_waits_for_a_connection_gets_the_next_that_is_free(backend: PostgresBackend) -> None:
    store = PostgresStore(backend.dsn, connections=1)
    await store.open()
    job = await enqueue_one(store)
    is_free = asyncio.Event()

    async def hold(_: Connection) -> None:
        await is_free.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(store._pool.work(hold))
        waiting = [group.create_task(state_of(store, job)) for _ in range(3)]
        await asyncio.wait(waiting, timeout=0.01)
        is_free.set()
    assert len({task.result() for task in waiting}) == 1
    await store.close()
