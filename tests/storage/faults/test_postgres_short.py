"""A server without a connection to spare: callers wait in order; the heartbeat's connection is its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tenure.core.model.lease import Claimed, Pulse
from tenure.core.signals import ConnectionsFreed, ConnectionsShort, Signal
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire import connections
from tenure.storage.postgres.wire.pool import Connection
from tests.storage.faults.conftest import TIMEOUT, Opener
from tests.storage.faults.outages import BOUND, outage
from tests.storage.faults.test_postgres_pool import take_all
from tests.storage.verbs import claim, enqueue_one, seconds
from tests.until import until


class FullServer:
    """Takes every connection that the server has left, and gives some of them back."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._taken: list[asyncpg.Connection] = []

    async def fill(self) -> None:
        self._taken += await take_all(self._dsn)

    async def give_one(self) -> None:
        await self._taken.pop().close()

    async def close(self) -> None:
        for one in self._taken:
            await one.close()

    async def break_others(self, *kept: int) -> None:
        """End the connections of stores, except for these, and take what that leaves."""
        ours = [one.get_server_pid() for one in self._taken]
        text = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL ($1)"
        for row in await self._taken[0].fetch(text, [*ours, *kept]):
            await self._taken[0].execute("SELECT pg_terminate_backend($1, 10000)", row["pid"])
        await self.fill()


@pytest.fixture
async def server(own_dsn: str) -> AsyncIterator[FullServer]:
    """The others on the server, which have no connection yet."""
    others = FullServer(own_dsn)
    yield others
    await others.close()


@pytest.fixture
def heard() -> list[Signal]:
    """What the worker's store has announced."""
    return []


@pytest.fixture
async def worker(own_dsn: str, opened: Opener, heard: list[Signal]) -> PostgresStore:
    """A worker's store, with two connections beside the heartbeat's own."""
    return await opened(own_dsn, connections=2, for_worker=True, on_signal=heard.append)


async def own_pid(store: PostgresStore) -> int:
    """The process on the server that serves heartbeats."""
    assert store._pool._own is not None
    connection = store._pool._own._connection
    assert connection is not None
    number: int = connection.get_server_pid()
    return number


async def beats(store: PostgresStore, owned: Claimed) -> bool:
    """Whether a heartbeat keeps the lease."""
    return owned.lease in (await store.heartbeat(Pulse(worker="a", leases=[owned.lease]))).kept


async def server_process(connection: Connection) -> int:
    number: int = await connection.fetchval("SELECT pg_backend_pid()")
    return number


async def test_a_worker_waits_for_a_connection_and_says_so_once(
    worker: PostgresStore, server: FullServer, heard: list[Signal]
) -> None:
    """Longer than the timeout of a statement, which fails every other caller; heartbeats go on."""
    await enqueue_one(worker)
    [owned] = await claim(worker, lease_for=seconds(3600))
    await server.fill()
    await server.break_others(await own_pid(worker))

    turn = asyncio.create_task(claim(worker))
    await until(lambda: bool(heard))
    over = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(1.5 * TIMEOUT, over.set_result, None)
    await over
    assert await beats(worker, owned)
    assert not turn.done()
    [short] = heard
    assert isinstance(short, ConnectionsShort)
    assert (short.open, short.waiting) == (0, 1)

    await server.give_one()
    assert await turn == []
    assert [type(signal) for signal in heard] == [ConnectionsShort, ConnectionsFreed]


async def test_others_are_refused_after_the_timeout(own_dsn: str, server: FullServer, opened: Opener) -> None:
    """A server must answer its callers; nothing was sent."""
    store = await opened(own_dsn)
    await server.fill()
    await server.break_others()
    end = await outage(store.now())
    assert not end.unknown
    assert "too many clients" in str(end)
    await server.give_one()
    await store.now()


async def test_a_worker_is_opened_once_there_is_room(own_dsn: str, server: FullServer) -> None:
    """Its heartbeat's connection is the first, one for statements the second."""
    await server.fill()
    store = PostgresStore(own_dsn, for_worker=True, timeout=TIMEOUT, notify=False)
    opening = asyncio.create_task(store.open())
    await server.give_one()
    await until(lambda: store._pool._own is not None and store._pool._own._connection is not None)
    assert not opening.done()
    await server.give_one()
    await opening
    await store.close()


async def test_a_broken_heartbeat_takes_the_place_of_another_connection(
    worker: PostgresStore, server: FullServer
) -> None:
    """The server gives no new one: what other statements use becomes the heartbeat's."""
    await enqueue_one(worker)
    [owned] = await claim(worker, lease_for=seconds(3600))
    other = await worker._pool.run_task(server_process)
    await server.fill()
    await server.break_others(other)
    assert await beats(worker, owned)
    assert await own_pid(worker) == other


async def test_a_turn_goes_before_what_came_earlier(
    own_dsn: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In line for a connection heartbeats are first, then turns, then the rest."""
    store = await opened(own_dsn, connections=1, timeout=60.0)
    await enqueue_one(store)
    [owned] = await claim(store, lease_for=seconds(3600))
    order: list[str] = []
    is_free = asyncio.Event()

    async def hold(_: Connection) -> None:
        await is_free.wait()

    async def noted(name: str, call: Any) -> None:
        await call
        order.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(store._pool.run_task(hold))
        await asyncio.sleep(0)
        for name, call in (
            ("rest", store.now()),
            ("turn", store.hand_back("a", unstarted=[owned.lease], killed=[])),
            ("heartbeat", beats(store, owned)),
        ):
            group.create_task(noted(name, call))
        lines = store._pool.connections._lines.values()
        await until(lambda: all(len(line) == 1 for line in lines))
        is_free.set()
    assert order == ["heartbeat", "turn", "rest"]


async def test_the_heartbeats_connection_is_never_lent(worker: PostgresStore, own_dsn: str) -> None:
    """However many statements wait for one: the last one that it has seen is a heartbeat."""
    await enqueue_one(worker)
    [owned] = await claim(worker, lease_for=seconds(3600))
    kept = await own_pid(worker)
    assert await beats(worker, owned)
    looker = await asyncpg.connect(own_dsn)
    last = "SELECT query_start FROM pg_stat_activity WHERE pid = $1"
    before = await looker.fetchval(last, kept)
    used = await asyncio.gather(*(worker._pool.run_task(server_process) for _ in range(20)))
    assert kept not in used
    await asyncio.gather(*(worker.now() for _ in range(20)), *(claim(worker) for _ in range(20)))
    assert await looker.fetchval(last, kept) == before
    assert await beats(worker, owned)
    assert await own_pid(worker) == kept
    assert await looker.fetchval(last, kept) > before
    await looker.close()


async def test_heartbeats_go_on_while_all_others_are_in_long_statements(own_dsn: str, opened: Opener) -> None:
    store = await opened(own_dsn, connections=2, for_worker=True, timeout=90.0)
    await enqueue_one(store)
    [owned] = await claim(store, lease_for=seconds(3600))
    looker = await asyncpg.connect(own_dsn)

    async def sleep(connection: Connection) -> None:
        await connection.execute("SELECT pg_sleep(60)")

    sleeping = [asyncio.create_task(store._pool.run_task(sleep)) for _ in range(2)]
    asleep = "SELECT count(*) = 2 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    await until(lambda: looker.fetchval(asleep))
    async with asyncio.timeout(BOUND / 2):  # less than they sleep
        for _ in range(5):
            assert await beats(store, owned)
    assert await looker.fetchval(asleep)
    for task in sleeping:
        task.cancel()
    await asyncio.wait(sleeping)
    await until(lambda: looker.fetchval(asleep.replace("= 2", "= 0")))
    await looker.close()


async def test_a_burst_leaves_one_connection_behind(
    own_dsn: str, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the heartbeat's, which is never closed for being idle."""
    monkeypatch.setattr(connections, "SPARE_FOR", 0.05)
    store = await opened(own_dsn, connections=8, for_worker=True)
    kept = await own_pid(store)
    looker = await asyncpg.connect(own_dsn)
    mine = "SELECT array_agg(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1"

    async def pids() -> list[int]:
        return list(await looker.fetchval(mine, looker.get_server_pid()))

    is_free = asyncio.Event()

    async def hold(_: Connection) -> None:
        await is_free.wait()

    held = [asyncio.create_task(store._pool.run_task(hold)) for _ in range(8)]

    async def are(number: int) -> bool:
        return len(await pids()) == number

    await until(lambda: are(9))
    is_free.set()
    await asyncio.gather(*held)
    await until(lambda: are(2))
    assert kept in await pids()
    await looker.close()
