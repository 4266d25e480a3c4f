"""Requests that come at once are recorded together, and are bounded together when the store is held."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import apsw
import asyncpg
import msgspec

from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.sqlite.store import SqliteStore
from tests.surfaces.http.http_server import Api, request

CONNECTIONS = 64


@asynccontextmanager
async def held(store: Store) -> AsyncIterator[None]:
    """While somebody else has what is needed to record a job."""
    if isinstance(store, SqliteStore):
        connection = apsw.Connection(str(store._path))
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
        connection.close()
        return
    assert isinstance(store, PostgresStore)
    other: Any = await asyncpg.connect(store._pool._servers._address.dsn)
    async with other.transaction():
        await other.execute("LOCK TABLE tenure.job IN SHARE MODE")
        yield
    await other.close()


async def transactions(store: Store) -> Any:
    """How many jobs there are, and in how many transactions they were recorded."""
    if isinstance(store, SqliteStore):
        connection = apsw.Connection(str(store._path))
        found = connection.execute("SELECT count(*), count(DISTINCT mark) FROM tenure_job").fetchall()
        connection.close()
        return found[0]
    assert isinstance(store, PostgresStore)
    other: Any = await asyncpg.connect(store._pool._servers._address.dsn)
    row = await other.fetchrow("SELECT count(*), count(DISTINCT xmin::text) FROM tenure.job")
    await other.close()
    return row


async def test_requests_of_many_connections_share_statements(store: Store, api: Api) -> None:
    """S0.47: what comes while the store is at work is recorded by the next statement, for all of them."""
    await api.post("/jobs", {"jobType": "mail", "idempotencyKey": "the first reads the definitions"})
    async with AsyncExitStack() as ends:
        wires = [await ends.enter_async_context(api.wire()) for _ in range(CONNECTIONS)]
        async with held(store):
            for n, wire in enumerate(wires):
                body = msgspec.json.encode({"jobType": "mail", "idempotencyKey": str(n)})
                await wire.send(
                    request(path="/jobs", headers={"Content-Type": "application/json"}, body=body)
                )
            for _ in range(10):
                await api.get("/healthz")  # whoever is answered later was heard later
        replies = await asyncio.gather(*(wire.reply() for wire in wires))
    assert {reply.status for reply in replies} == {202}
    assert len({reply.json["jobId"] for reply in replies}) == CONNECTIONS
    jobs, shared = await transactions(store)
    assert jobs == CONNECTIONS + 1
    assert shared <= 1 + 5  # those that set out at once, and the one behind each of them
