"""The database goes away under a worker: what runs is stopped in time, and work goes on when it is back."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure.core.states import State
from tenure.storage.contract import Store
from tenure.storage.postgres.store import PostgresStore
from tests.storage.faults.own_server import OwnServer
from tests.worker.commanding import Ledger, commanded
from tests.worker.employing import enqueue, reach, vanish


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server that may be stopped."""
    with OwnServer() as started:
        yield started


@pytest.fixture
async def store(server: OwnServer) -> AsyncIterator[Store]:
    """A store on it."""
    name = "outage"
    opened = PostgresStore(server.create_database(name))
    await opened.open()
    await opened.migrate()
    yield opened
    await opened.close()


async def test_what_runs_is_stopped_before_its_lease_ends_elsewhere(
    server: OwnServer, store: Store, tmp_path: Path
) -> None:
    """S0.76: the child is gone by the time the database would give its job away; then it is run again."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "wait", ledger.params)
    async with commanded(server.dsn("outage"), "--lease-seconds", "6") as worker:
        [start] = await ledger.reach("start", 1)
        server.stop_at_once()
        await vanish(start.pid)
        gone = datetime.now(UTC)
        server.start_again()
        orphan = await reach(store, job, State.RUNNING)
        assert orphan.fence == start.fence
        assert orphan.lease_expires_at is not None
        assert gone < orphan.lease_expires_at
        await worker.says("works again")
        ledger.let_go()
        done = await reach(store, job, State.SUCCEEDED)
    assert done.fence > start.fence
    assert [effect.fence for effect in ledger.entries("effect")] == [done.fence]
