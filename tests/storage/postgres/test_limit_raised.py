"""A limit that is raised while a caller's own transaction, still open, brings a new key for it."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from tenure.core.model.limit import Limit
from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.storage.contract.store import Store
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.lock_waits import PATIENCE, until_waiting
from tests.storage.verbs import enqueue_one

MILL = Spec(key="mill", concurrency=2, concurrency_key="/who")
BRINGS_A_KEY = """SELECT tenure.enqueue('mill', '{"who": "ann"}')"""
RAISED = "UPDATE tenure.limit_size SET size = 5 WHERE name = 'mill'"


@pytest.fixture
async def caller(store: Store, backend: PostgresBackend) -> AsyncIterator[asyncpg.Connection]:
    """A transaction of a caller's; the limit has its size already, by a job under another key."""
    await store.put_definitions([Definition(key="mill", version=1, spec=MILL.document())])
    await enqueue_one(store, "mill", limits=(Limit("mill", "bob", 2),))
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("BEGIN")
    yield connection
    await connection.close()


async def places(backend: PostgresBackend) -> dict[str, int]:
    """How many places each key has."""
    rows = await backend.sql(
        "SELECT key, count(*) FROM tenure.limited JOIN tenure.slot ON limited.id = limited GROUP BY key"
    )
    return {key: int(count) for key, count in rows}


async def test_a_key_that_was_not_yet_committed_gets_the_new_number_of_places(
    store: Store, backend: PostgresBackend, caller: asyncpg.Connection
) -> None:
    """Who raises the limit does not see the key, and does not wait for the caller either."""
    await caller.execute(BRINGS_A_KEY)
    async with asyncio.timeout(PATIENCE):
        await store.set_limit("mill", 5)
    await caller.execute("COMMIT")
    assert await places(backend) == {"bob": 5, "ann": 5}


async def test_a_commit_waits_for_a_limit_that_is_being_raised(
    store: Store, backend: PostgresBackend, caller: asyncpg.Connection, foreign: asyncpg.Connection
) -> None:
    """The new size is written and not yet committed when the caller commits."""
    await caller.execute(BRINGS_A_KEY)
    await foreign.execute(RAISED)
    async with asyncio.timeout(PATIENCE):
        committing = asyncio.create_task(caller.execute("COMMIT"))
        await until_waiting(backend, 1)
        await foreign.execute("COMMIT")
        await committing
    assert (await places(backend))["ann"] == 5


async def test_a_limit_that_is_lowered_meanwhile_takes_no_more_than_it_may(
    store: Store, backend: PostgresBackend, caller: asyncpg.Connection
) -> None:
    """Places above the size stay, and are never taken."""
    await caller.execute(BRINGS_A_KEY)
    await store.set_limit("mill", 1)
    await caller.execute("COMMIT")
    assert (await places(backend))["ann"] >= 1
    assert {use.key: use.size for use in await store.limits()} == {"bob": 1, "ann": 1}
