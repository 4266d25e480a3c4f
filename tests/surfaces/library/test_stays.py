"""A loop that calls often has a store of its own, which ends with it and is nobody else's to close."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from tenure import SchemaMismatch, Tenure
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.settings import Settings
from tenure.storage.address import is_served
from tenure.surfaces.library.stays import OFTEN, Stays
from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend
from tests.surfaces.library.test_places import define

PATIENCE = 60.0
OTHERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def database_kind() -> str:
    """PostgreSQL alone: to a file there is only the one way."""
    return "postgres"


@pytest.fixture
async def stays(backend: PostgresBackend) -> AsyncIterator[Stays]:
    made = Stays(backend.address, Registry())
    yield made
    await asyncio.to_thread(made.close)


async def lodged(stays: Stays) -> Client:
    """The client of this loop, once it has called often enough."""
    async with asyncio.timeout(PATIENCE):
        while not (client := stays.client_on(asyncio.get_running_loop())):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    return client


async def connected(backend: PostgresBackend, most: int | None = None) -> int:
    """How many others are connected to the database; with `most`, once they are no more than that."""
    mine = await asyncpg.connect(backend.dsn)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = int(await mine.fetchval(OTHERS))
                if most is None or found <= most:
                    return found
    finally:
        await mine.close()


def test_a_file_is_served_by_nobody() -> None:
    assert is_served("postgresql://host/name")
    assert not is_served("SQLite:///tenure.db")


async def test_a_loop_that_calls_seldom_has_none(stays: Stays) -> None:
    loop = asyncio.get_running_loop()
    assert [stays.client_on(loop) for _ in range(OFTEN - 1)] == [None] * (OFTEN - 1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_loop_keeps_the_one_it_has(stays: Stays) -> None:
    """And nobody who waits for all tasks of the loop waits for it."""
    client = await lodged(stays)
    assert await client.definitions() == []
    assert await lodged(stays) is client
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_it_ends_with_its_loop(backend: PostgresBackend) -> None:
    stays = Stays(backend.address, Registry())
    before = asyncio.run(connected(backend))

    async def call() -> None:
        await (await lodged(stays)).definitions()

    for _ in range(2):
        asyncio.run(call())
        asyncio.run(connected(backend, most=before))


@pytest.mark.parametrize(
    "close", [lambda stays: asyncio.to_thread(stays.close), lambda stays: none(stays.close())]
)
async def test_it_is_closed_from_any_thread(
    backend: PostgresBackend, stays: Stays, close: Callable[[Stays], Awaitable[None]]
) -> None:
    """Also from its own, which cannot wait for it; what comes later begins anew."""
    before = await connected(backend)
    first = await lodged(stays)
    await close(stays)
    await connected(backend, most=before)
    assert stays.client_on(asyncio.get_running_loop()) is None
    assert await lodged(stays) is not first


async def none(answer: None) -> None:
    """To be awaited like the others."""


async def test_closing_ends_one_that_is_being_opened(backend: PostgresBackend, stays: Stays) -> None:
    before = await connected(backend)
    loop = asyncio.get_running_loop()
    while len(asyncio.all_tasks()) == 1:
        stays.client_on(loop)
    await asyncio.to_thread(stays.close)
    await connected(backend, most=before)


async def test_where_it_cannot_be_opened_the_thread_tells(postgres_server: PostgresServer) -> None:
    """By the error that every call would have had."""
    address = postgres_server.create_database(f"stays_{os.urandom(6).hex()}")
    async with Tenure(address, settings=Settings()) as app:
        work = define(app)
        for _ in range(2 * OFTEN):
            with pytest.raises(SchemaMismatch, match="run `tenure migrate`"):
                await work.enqueue()


async def test_however_often_it_calls_a_loop_has_none_where_the_schema_is_another(
    backend: PostgresBackend,
) -> None:
    """Its store would not look again: the thread's must have verified the schema first."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("INSERT INTO tenure.migration (number, name) VALUES (9999, 'a later one')")
    try:
        async with Tenure(backend.address, settings=Settings()) as app:
            work = define(app)
            for _ in range(2 * OFTEN):
                with pytest.raises(SchemaMismatch):
                    await work.enqueue()
    finally:
        await connection.execute("DELETE FROM tenure.migration WHERE number = 9999")
        await connection.close()


async def test_a_forked_child_does_not_close_its_parents(stays: Stays) -> None:
    client = await lodged(stays)
    loop = asyncio.get_running_loop()
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # one that hangs must not outlive the test
        code = 1
        try:
            asyncio._set_running_loop(None)
            asyncio.new_event_loop().run_until_complete(loop.shutdown_asyncgens())  # as if its loop ended
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode((await asyncio.to_thread(os.waitpid, child, 0))[1]) == 0
    assert await client.definitions() == []


def test_jobs_are_kept_whichever_way_they_go(backend: PostgresBackend) -> None:
    """One at a time and many at once, from a loop that calls often, from the next loop, and without any."""
    before = asyncio.run(connected(backend))
    app = Tenure(backend.address, settings=Settings())
    work = define(app)

    async def enqueue() -> None:
        for number in range(2 * OFTEN):
            await work.enqueue(idempotency_key=str(number))
        await work.enqueue_many({} for _ in range(100))
        [once] = {await work.enqueue(idempotency_key="0") for _ in range(2)}
        assert [event.type for event in await once.events()] == ["queued"]

    async def count() -> int:
        connection = await asyncpg.connect(backend.dsn)
        try:
            return int(await connection.fetchval("SELECT count(*) FROM tenure.job"))
        finally:
            await connection.close()

    asyncio.run(enqueue())
    assert asyncio.run(count()) == 2 * OFTEN + 100
    asyncio.run(enqueue())
    assert asyncio.run(count()) == 2 * OFTEN + 200
    work.enqueue_sync()
    app.close_sync()
    asyncio.run(connected(backend, most=before))
