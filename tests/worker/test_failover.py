"""A PostgreSQL server is lost under load and its synchronous standby takes its place."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values.documents import Document, write
from tenure.storage.address import open_store
from tenure.storage.contract.store import Store
from tests.storage.faults.conftest import migrate
from tests.storage.faults.standby import Primary, Standby, both, replicate
from tests.until import until
from tests.worker.running_worker import reach
from tests.worker.test_outage import ended_once
from tests.worker.worker_process import Ledger, worker_process

LEASE = 4
CLIENTS = 4
BUSY = 60
"""So many jobs have run when the primary goes, and as many more when the clients stop."""

AHEAD = 30
"""By how many jobs the clients may be ahead of the workers: there is always more to do than slots."""


@pytest.fixture
async def servers() -> AsyncIterator[tuple[Primary, Standby]]:
    """A primary with a database, and the standby that follows it."""
    with Primary() as primary:
        await migrate(primary.create_database("failover"))
        standby = await replicate(primary)
        with standby:
            yield primary, standby


class Clients:
    """Enqueue one job after the other; after an error they repeat it, with the same id."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self.acknowledged: list[UUID] = []
        self.is_over = False

    async def run(self) -> None:
        """Enqueue until it is over."""
        while not self.is_over:
            await until(self._may_go_on)
            job = uuid4()
            params = write({**self._ledger.params, "name": str(job)})
            await until(partial(self._is_acknowledged, job, params))
            self.acknowledged.append(job)

    def _may_go_on(self) -> bool:
        return self.is_over or len(self.acknowledged) < len(self._ledger.every_entry()) + AHEAD

    async def _is_acknowledged(self, job: UUID, params: Document) -> bool:
        try:
            await self._store.enqueue([NewJob(definition="short", params=params, id=job)])
        except StoreUnavailable:
            return False
        return True


async def test_a_standby_that_takes_over_under_load_has_every_job(
    servers: tuple[Primary, Standby], tmp_path: Path
) -> None:
    """No acknowledged job is lost, each is settled once; hints and heartbeats follow by themselves."""
    primary, standby = servers
    address = both("failover", primary, standby)
    ledger = Ledger(tmp_path)
    store = await open_store(address)
    clients = Clients(store, ledger)
    flags = ("--lease-seconds", str(LEASE), "--slots", "4")
    async with worker_process(address, *flags), worker_process(address, *flags):
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CLIENTS):
                tasks.create_task(clients.run())
            await until(lambda: len(ledger.every_entry()) >= BUSY)
            await asyncio.to_thread(primary.kill)
            before = len(ledger.every_entry())
            since = await standby.promote()
            await until(lambda: len(ledger.every_entry()) >= before + BUSY)
            clients.is_over = True
        for job in clients.acknowledged:
            await reach(store, job, State.SUCCEEDED)
        await until(lambda: _have_followed(standby, since))
    done = Counter((entry.what, entry.fence) for entry in ledger.every_entry())
    assert set(done.values()) == {1}
    for job in clients.acknowledged:
        await ended_once(store, job, {fence for what, fence in done if what == str(job)})
    await store.close()


async def _have_followed(standby: Standby, since: datetime) -> bool:
    """Whether both workers listen there, and have sent heartbeats since it is the primary."""
    connection = await asyncpg.connect(standby.dsn("failover"))
    try:
        # A connection that listens sends an empty statement as well, to see that its server is there.
        listening = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query = 'SELECT'"
        )
        alive = await connection.fetchval("SELECT count(*) FROM tenure.worker WHERE seen_at > $1", since)
    finally:
        await connection.close()
    return bool(listening == alive == 2)
