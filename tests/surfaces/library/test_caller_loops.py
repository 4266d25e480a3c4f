"""A loop that calls often has a store of its own, which ends with it and which no other process closes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable

import asyncpg
import pytest

from tenure import SchemaMismatch, Tenure
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.settings.settings import Settings
from tenure.storage.address import is_served
from tenure.surfaces.library.caller_loops import OFTEN, CallerLoops
from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend
from tests.surfaces.library.test_places import define
from tests.until import until

PATIENCE = 60.0
OTHERS = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def database_kind() -> str:
    """PostgreSQL alone: an SQLite file is always used through the thread."""
    return "postgres"


@pytest.fixture
async def loops(backend: PostgresBackend) -> AsyncIterator[CallerLoops]:
    made = CallerLoops(backend.address, Registry())
    yield made
    await asyncio.to_thread(made.close)


async def client_of_loop(loops: CallerLoops) -> JobClient:
    """The client of this loop, once it has called often enough."""
    client = await until(lambda: loops.client_on(asyncio.get_running_loop()))
    assert client is not None
    return client


async def connected(backend: PostgresBackend, most: int | None = None) -> int:
    """How many others are connected to the database; with `most`, once they are no more than that."""
    mine = await asyncpg.connect(backend.dsn)
    try:
        if most is not None:
            await until(lambda: mine.fetchval(f"SELECT ({OTHERS}) <= {most}"))
        return int(await mine.fetchval(OTHERS))
    finally:
        await mine.close()


def test_a_file_is_served_by_nobody() -> None:
    assert is_served("postgresql://host/name")
    assert not is_served("SQLite:///tenure.db")


async def test_a_loop_that_calls_seldom_has_none(loops: CallerLoops) -> None:
    loop = asyncio.get_running_loop()
    assert [loops.client_on(loop) for _ in range(OFTEN - 1)] == [None] * (OFTEN - 1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_loop_keeps_the_one_it_has(loops: CallerLoops) -> None:
    """And it is not among the tasks of the loop, for which a program may wait."""
    client = await client_of_loop(loops)
    assert await client.definitions() == []
    assert await client_of_loop(loops) is client
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_it_ends_with_its_loop(backend: PostgresBackend) -> None:
    loops = CallerLoops(backend.address, Registry())
    before = asyncio.run(connected(backend))

    async def call() -> None:
        await (await client_of_loop(loops)).definitions()

    for _ in range(2):
        asyncio.run(call())
        asyncio.run(connected(backend, most=before))


@pytest.mark.parametrize(
    "close", [lambda loops: asyncio.to_thread(loops.close), lambda loops: none(loops.close())]
)
async def test_it_is_closed_from_any_thread(
    backend: PostgresBackend, loops: CallerLoops, close: Callable[[CallerLoops], Awaitable[None]]
) -> None:
    """Also from its own, which cannot wait for it; a later call starts afresh."""
    before = await connected(backend)
    first = await client_of_loop(loops)
    await close(loops)
    await connected(backend, most=before)
    assert loops.client_on(asyncio.get_running_loop()) is None
    assert await client_of_loop(loops) is not first


async def none(answer: None) -> None:
    """Make a plain result awaitable."""


async def test_closing_ends_one_that_is_being_opened(backend: PostgresBackend, loops: CallerLoops) -> None:
    before = await connected(backend)
    loop = asyncio.get_running_loop()
    while len(asyncio.all_tasks()) == 1:
        loops.client_on(loop)
    await asyncio.to_thread(loops.close)
    await connected(backend, most=before)


async def test_where_it_cannot_be_opened_the_thread_tells(postgres_server: PostgresServer) -> None:
    """With the error that every call would get."""
    address = postgres_server.create_database(f"loops_{os.urandom(6).hex()}")
    async with Tenure(address, settings=Settings()) as app:
        work = define(app)
        for _ in range(2 * OFTEN):
            with pytest.raises(SchemaMismatch, match="run `tenure migrate`"):
                await work.enqueue()


async def test_however_often_it_calls_a_loop_has_none_where_the_schema_is_another(
    backend: PostgresBackend,
) -> None:
    """Its store does not check the schema: the thread's must have verified it first."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute(
        "INSERT INTO tenure.migration (number, name, reads_from) VALUES (9999, 'a later one', 9999)"
    )
    try:
        async with Tenure(backend.address, settings=Settings()) as app:
            work = define(app)
            for _ in range(2 * OFTEN):
                with pytest.raises(SchemaMismatch):
                    await work.enqueue()
    finally:
        await connection.execute("DELETE FROM tenure.migration WHERE number = 9999")
        await connection.close()


async def test_a_forked_child_does_not_close_its_parents(loops: CallerLoops) -> None:
    client = await client_of_loop(loops)
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
