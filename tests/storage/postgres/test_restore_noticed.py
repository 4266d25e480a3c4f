"""Whether a database was restored into another server: noticed where it was, and never where it was not."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from tenure.core.errors import SchemaMismatch, StoreRestored
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.storage.verbs import enqueue_one, fed, job_in, one_in_each_state

AHEAD = 10**9
CHECKS = 40
"""Checks while others write: a wrong one would be noticed within a few."""


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> str:
    """A database of the test's own: its way to count is changed."""
    return create_migrated(postgres_server, f"noticed_{uuid4().hex}")


@pytest.fixture
async def own(dsn: str) -> AsyncIterator[PostgresStore]:
    """A store on it."""
    store = PostgresStore(dsn)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def shell(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A shell whose owner may do everything."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET session_replication_role = replica")
    yield connection
    await connection.close()


@pytest.mark.parametrize("table", ["job", "event"])
async def test_one_mark_ahead_of_the_server_is_enough(
    own: PostgresStore, shell: asyncpg.Connection, table: str
) -> None:
    """Changed by hand: that of a job, or that of an event."""
    await job_in(own, State.SUCCEEDED)
    await own.verify()
    await shell.execute(f"UPDATE tenure.{table} SET mark = mark + {AHEAD}")
    with pytest.raises(StoreRestored, match="tenure migrate --after-restore"):
        await own.verify()
    await own.resume_after_restore()
    await own.verify()
    assert len(await fed(own, 3)) == 3


async def test_the_next_number_is_ahead_and_the_last_one_is_not(
    own: PostgresStore, shell: asyncpg.Connection
) -> None:
    await enqueue_one(own)
    await shell.execute("UPDATE tenure.job SET mark = txid_current()")
    await own.verify()
    mark = await shell.fetchval("UPDATE tenure.job SET mark = txid_current() + 1 RETURNING mark")
    noticed = False
    try:
        await own.verify()
    except StoreRestored:
        noticed = True
    # The server itself may have used the number meanwhile, to vacuum.
    assert noticed or await shell.fetchval("SELECT txid_snapshot_xmax(txid_current_snapshot())") > mark


async def test_a_summand_that_is_too_small_is_noticed(own: PostgresStore, shell: asyncpg.Connection) -> None:
    """What a second dump brings along: the summand of the first server, with marks from beyond."""
    await one_in_each_state(own)
    await own.resume_after_restore()
    await enqueue_one(own)
    await own.verify()
    body = await shell.fetchval("SELECT prosrc FROM pg_proc WHERE oid = 'tenure.counted'::regproc")
    less = body.replace(body.split()[-1], "7")
    await shell.execute(f"""CREATE OR REPLACE FUNCTION tenure.counted(number bigint) RETURNS bigint
                            LANGUAGE sql IMMUTABLE AS '{less}'""")
    with pytest.raises(StoreRestored):
        await own.verify()
    await own.resume_after_restore()
    await own.verify()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("counted(number bigint)", "SELECT number - 5"),
        ("mark()", "SELECT pg_catalog.txid_current()"),
        ("horizon()", "SELECT 9223372036854775807"),
    ],
)
async def test_a_function_that_counts_otherwise_does_not_fit(
    own: PostgresStore, shell: asyncpg.Connection, name: str, body: str
) -> None:
    await shell.execute(
        f"CREATE OR REPLACE FUNCTION tenure.{name} RETURNS bigint LANGUAGE sql STABLE AS '{body}'"
    )
    with pytest.raises(SchemaMismatch, match=f"tenure.{name.partition('(')[0]}"):
        await own.verify()


async def test_no_alarm_while_others_write(own: PostgresStore, dsn: str) -> None:
    """In a transaction that began before, in ones that commit all the time, in one that is undone."""
    long, undone = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    await long.execute("BEGIN; SELECT tenure.mark()")
    await undone.execute("BEGIN; SELECT tenure.mark()")
    is_over = False

    async def write() -> None:
        while not is_over:
            await own.enqueue([NewJob(definition="mail")])

    async with asyncio.TaskGroup() as tasks:
        for _ in range(4):
            tasks.create_task(write())
        for _ in range(CHECKS):
            await own.verify()
        is_over = True
    await long.execute("COMMIT")
    await undone.execute("ROLLBACK")
    await own.verify()
    await long.close()
    await undone.close()


async def test_the_planner_puts_the_numbers_in_place_of_the_calls(shell: asyncpg.Connection) -> None:
    """A call of a function in SQL that is not inlined costs a hundred times as much."""
    for call in ("tenure.mark()", "tenure.horizon()"):
        [_, output, *_] = await shell.fetch(f"EXPLAIN (VERBOSE, COSTS off) SELECT {call}")
        assert "txid" in output[0]
        assert "tenure" not in output[0]
