"""Who begins while a restored database is made to go on: it is seen, or it waits and counts anew."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from tenure.core.errors import StoreBusy
from tenure.core.model.lease import Lease
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.restores import LIFT, Resumed, WorkersSeen
from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.storage.verbs import MAIL, claim, enqueue_one, fed, settle, state_of, succeeded
from tests.until import until

WORKER = WorkerInfo(id="late", host="here", pid=1, version="1", slots=1, lines=(MAIL,))
ENLISTED = """
    INSERT INTO tenure.worker (id, pid, slots, host, version, lines, started_at, seen_at)
    VALUES ('late', 1, 1, 'here', '1', '[]', now(), now())
"""


@pytest.fixture
async def dsn(postgres_server: PostgresServer) -> str:
    """A database of the test's own."""
    return create_migrated(postgres_server, f"race_{uuid4().hex}")


@pytest.fixture
async def own(dsn: str) -> AsyncIterator[PostgresStore]:
    """A store on it."""
    store = PostgresStore(dsn)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def other(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """Another process, in a transaction of its own."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("BEGIN")
    yield connection
    await connection.close()


@pytest.fixture
async def looking(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """To see who waits."""
    connection = await asyncpg.connect(dsn)
    yield connection
    await connection.close()


async def waits(looking: asyncpg.Connection, number: int = 1) -> None:
    """Return once so many statements wait for a lock."""

    async def do() -> bool:
        found = await looking.fetchval("""
            SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'""")
        return int(found) >= number

    await until(do)


async def test_a_worker_that_is_about_to_begin_is_seen(
    own: PostgresStore, other: asyncpg.Connection, looking: asyncpg.Connection
) -> None:
    """It commits when the repair has already begun: the repair waits for it, and is refused."""
    await enqueue_one(own)
    [owned] = await claim(own)
    await other.execute(ENLISTED)
    repair = asyncio.create_task(own.resume_after_restore())
    await waits(looking)
    await other.execute("COMMIT")
    answer = await repair
    assert isinstance(answer, WorkersSeen)
    assert [worker.id for worker in answer.workers] == ["late"]
    assert (await settle(own, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}


async def test_a_worker_that_begins_during_the_repair_waits_and_counts_anew(
    own: PostgresStore, dsn: str, other: asyncpg.Connection, looking: asyncpg.Connection
) -> None:
    """It neither loses what it claims, nor claims under numbers that a reader would never see."""
    job = await enqueue_one(own)
    before = await fed(own, 1)
    late = PostgresStore(dsn)
    await late.open()
    await claim(late, "late", limit=0)  # its connection is there, its plans are made
    # The last thing that the repair needs: it holds everything else meanwhile.
    await other.execute("LOCK TABLE tenure.store IN SHARE MODE")
    repair = asyncio.create_task(own.resume_after_restore())
    await waits(looking)
    begins = asyncio.create_task(late.enlist(WORKER))
    claims = asyncio.create_task(claim(late, "late"))
    await waits(looking, 3)
    await other.execute("COMMIT")
    assert isinstance(await repair, Resumed)
    await begins
    claimed = await claims or await claim(late, "late")
    [owned] = claimed
    assert owned.lease == Lease(job, owned.lease.fence)
    assert owned.lease.fence > LIFT
    assert (await settle(late, [succeeded(owned)], "late")).accepted == {owned.lease: State.SUCCEEDED}
    told = await fed(own, 2, after=before[-1].position)
    assert [entry.event.type for entry in told] == ["started", "succeeded"]
    assert told[0].position.mark > before[-1].position.mark + LIFT
    await late.close()


async def test_a_transaction_with_an_older_number_comes_out_above_as_well(
    own: PostgresStore, other: asyncpg.Connection
) -> None:
    """It has a number since before the repair, and writes only after it."""
    await enqueue_one(own)
    before = await fed(own, 1)
    await other.execute("SELECT pg_current_xact_id()")
    assert isinstance(await own.resume_after_restore(), Resumed)
    await other.execute("INSERT INTO tenure.definition VALUES ('sql', 1, '{}', NULL, now(), 'test')")
    job = await other.fetchval("SELECT tenure.enqueue('sql', '{}')")
    await other.execute("COMMIT")
    [entry] = await fed(own, 1, after=before[-1].position)
    assert entry.event.job == job
    assert entry.position.mark > before[-1].position.mark + LIFT
    assert await own.feed(await own.end_of_feed()) == []


async def test_a_repair_that_cannot_wait_longer_changes_nothing(
    own: PostgresStore, other: asyncpg.Connection
) -> None:
    """Somebody's open transaction is in the way."""
    job = await enqueue_one(own)
    await claim(own)
    await other.execute(f"SELECT FROM tenure.job_state WHERE id = '{job}' FOR UPDATE")
    await other.execute("LOCK TABLE tenure.worker IN ROW EXCLUSIVE MODE")
    with pytest.raises(StoreBusy, match="nothing was written"):
        await own.resume_after_restore()
    await other.execute("ROLLBACK")
    assert await own.reap(10) == []
    assert await state_of(own, job) is State.RUNNING
