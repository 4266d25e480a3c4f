"""How many connections to PostgreSQL a worker has, and what becomes of its leases when they are few."""

import asyncio
import secrets
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from tenure.core.model.states import State
from tenure.core.signals import AttemptLost
from tenure.storage.address import ConnectionTerms, open_store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.pool import Connection
from tests.postgres_server import PostgresServer
from tests.storage.faults.conftest import migrate
from tests.storage.faults.own_server import OwnServer
from tests.storage.migrated_databases import create_migrated
from tests.until import until
from tests.worker.running_worker import appear, enqueue, reach, run_worker
from tests.worker.worker_process import Command, Ledger, worker_process

IDLE = 3
WORKERS, MOST = 4, 16
JOBS = 200
LEASE = 2.0


@pytest.fixture
def address(postgres_server: PostgresServer) -> str:
    """The address of an empty database on PostgreSQL: a file needs no connections."""
    return create_migrated(postgres_server, f"connections_{secrets.token_hex(4)}")


@pytest.fixture
async def looker(address: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that is not the worker's."""
    connection = await asyncpg.connect(address)
    yield connection
    await connection.close()


async def connections(looker: asyncpg.Connection) -> int:
    """How many others there are to the database."""
    text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    number: int = await looker.fetchval(text)
    return number - 1


@pytest.mark.parametrize("most", ["3", "10"])
async def test_an_idle_worker_has_three_connections(
    address: str, looker: asyncpg.Connection, tmp_path: Path, most: str
) -> None:
    """Also after it was busy; and never more than the setting allows."""
    ledger = Ledger(tmp_path)
    async with worker_process(address, TENURE_CONNECTIONS=most) as worker:
        await worker.wait_for("worker.ready")
        store = PostgresStore(address, connections=1, notify=False)
        await store.open()
        seen = 0
        for n in range(50):
            await enqueue(store, "short", {**ledger.params, "name": f"job-{n}"})
            seen = max(seen, await connections(looker) - 1)
        await until(lambda: len(ledger.every_entry()) == 50)
        await store.close()

        async def is_idle() -> bool:
            return await connections(looker) <= IDLE

        await until(is_idle)
    assert IDLE <= seen <= int(most)


async def test_no_lease_is_lost_while_all_other_connections_are_in_long_statements(
    address: str, tmp_path: Path
) -> None:
    """Heartbeats prolong it, by several times its length: nothing else gets their connection."""
    terms = ConnectionTerms(4, for_worker=True)
    store = await open_store(address, terms)
    assert isinstance(store, PostgresStore)
    pool = store._pool
    started, end = tmp_path / "begun", tmp_path / "end"
    async with run_worker(store, lease=LEASE) as running:
        job = await enqueue(store, "speak_when_told", {"begun": str(started), "end": str(end)})
        await appear(started)
        looker = await asyncpg.connect(address)

        async def sleep(connection: Connection) -> None:
            await connection.execute("SELECT pg_sleep(60)")

        sleeping = [asyncio.create_task(pool.run_task(sleep)) for _ in range(2)]
        asleep = "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        await until(lambda: looker.fetchval(asleep))
        expiry = "SELECT max(expires_at) FROM tenure.lease"
        first = await looker.fetchval(expiry)

        async def is_much_later() -> bool:
            return bool((await looker.fetchval(expiry) - first).total_seconds() > 3 * LEASE)

        await until(is_much_later)
        assert await looker.fetchval(asleep)
        for task in sleeping:
            task.cancel()
        await asyncio.wait(sleeping)
        end.touch()
        await reach(store, job, State.SUCCEEDED)
        assert running.signals(AttemptLost) == []
        await looker.close()
    assert len(await store.attempts(job)) == 1
    await store.close()


@pytest.fixture(scope="module")
def small_server() -> Iterator[OwnServer]:
    """A server with fewer connections than its workers may want."""
    with OwnServer(settings={"max_connections": MOST}) as server:
        yield server


async def test_workers_that_want_more_connections_than_there_are_fail_no_turn(
    small_server: OwnServer, tmp_path: Path
) -> None:
    """They share what there is: whoever needs another one waits for it."""
    address = small_server.create_database("crowded")
    await migrate(address)
    async with crowd(address, WORKERS) as workers:
        await drained(address, WORKERS, JOBS, Ledger(tmp_path))
    assert failures(workers) == []


@pytest.mark.long
async def test_fifty_workers_share_two_hundred_connections(tmp_path: Path) -> None:
    """20,000 jobs, and no turn fails."""
    with OwnServer(settings={"max_connections": 200}) as server:
        address = server.create_database("crowded")
        await migrate(address)
        async with crowd(address, 50) as workers:
            await drained(address, 50, 20_000, Ledger(tmp_path))
        assert failures(workers) == []


@asynccontextmanager
async def crowd(address: str, number: int) -> AsyncIterator[list[Command]]:
    """So many workers, each of which may have ten connections, until they have ended in order."""
    async with AsyncExitStack() as stack:
        workers = [
            await stack.enter_async_context(
                worker_process(address, "--slots", "2", TENURE_LOG_LEVEL="warning")
            )
            for _ in range(number)
        ]
        yield workers
        for worker in workers:
            worker.send(signal.SIGTERM)
        for worker in workers:
            assert await worker.ended() == 0


async def drained(address: str, workers: int, jobs: int, ledger: Ledger) -> None:
    """Enqueue jobs once all workers serve, and wait until every one of them is settled."""
    store = PostgresStore(address, connections=1, notify=False)
    await store.open()
    looker = await asyncpg.connect(address)

    async def all_serve() -> bool:
        return bool(await looker.fetchval("SELECT count(*) FROM tenure.worker WHERE is_ready") == workers)

    await until(all_serve, 300)
    for n in range(0, jobs, 100):
        await asyncio.gather(
            *(enqueue(store, "short", {**ledger.params, "name": f"job-{n + m}"}) for m in range(100))
        )
    done = "SELECT count(*) FROM tenure.job_state WHERE state = 'succeeded'"

    async def are_done() -> bool:
        return bool(await looker.fetchval(done) == jobs)

    await until(are_done, 1800)
    await looker.close()
    await store.close()


def failures(workers: list[Command]) -> list[str]:
    """What the workers say of loops that failed and attempts that were lost."""
    bad = ("loop.failed", "attempt.lost", "jobs.reaped")
    return [line for worker in workers for line in worker.output if any(word in line for word in bad)]
