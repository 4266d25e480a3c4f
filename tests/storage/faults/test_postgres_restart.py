"""PostgreSQL stopped at once and started again: what was acknowledged is there, and every error is true."""

import asyncio
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import asyncpg

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.storage.faults.conftest import Opener
from tests.storage.faults.outages import BOUND, outage, recovered
from tests.storage.faults.own_server import OwnServer
from tests.storage.verbs import claim, enqueue_one, fed, hold_together, seconds, settle, state_of, succeeded

PRODUCERS, WORKERS = 20, 4


@dataclass
class Log:
    """The answers that callers got."""

    recorded: set[UUID] = field(default_factory=set)
    not_recorded: set[UUID] = field(default_factory=set)
    claimed: dict[UUID, Lease] = field(default_factory=dict)
    settled: set[UUID] = field(default_factory=set)
    outages: int = 0


class Load:
    """Producers and workers that run until stopped, and log their answers."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self.log = Log()
        self._is_over = False
        self._progress, self._is_back = asyncio.Event(), asyncio.Event()

    async def run(self, server: OwnServer) -> Log:
        """Stop the server in the middle, start it again, and go on until all work again."""
        async with asyncio.timeout(2 * BOUND), asyncio.TaskGroup() as tasks:
            for number in range(PRODUCERS):
                tasks.create_task(self._produce())
                if number < WORKERS:
                    tasks.create_task(self._work(f"worker-{number}"))
            await self._until_settled(50)
            await asyncio.to_thread(server.stop_at_once)
            await outage(self._store.now())
            await asyncio.to_thread(server.start_again)
            self._is_back.set()
            await self._until_settled(len(self.log.settled) + 50)
            self._is_over = True
        return self.log

    async def _until_settled(self, number: int) -> None:
        while len(self.log.settled) < number:
            self._progress.clear()
            await self._progress.wait()

    async def _produce(self) -> None:
        while not self._is_over:
            job = uuid4()
            try:
                await self._store.enqueue([NewJob(definition="mail", id=job)])
                self.log.recorded.add(job)
            except StoreUnavailable as end:
                if not end.unknown:
                    self.log.not_recorded.add(job)
                await self._rest()

    async def _work(self, worker: str) -> None:
        while not self._is_over:
            try:
                for owned in await claim(self._store, worker, limit=5, lease_for=seconds(3600)):
                    assert owned.lease.job not in self.log.claimed, "claimed twice"
                    self.log.claimed[owned.lease.job] = owned.lease
                    await self._settle(owned, worker)
            except StoreUnavailable:
                await self._rest()

    async def _settle(self, owned: Claimed, worker: str) -> None:
        """Settle, and after an outage once more until it is known."""
        is_in_doubt = False
        while True:
            try:
                answer = await settle(self._store, [succeeded(owned)], worker)
            except StoreUnavailable as end:
                is_in_doubt = is_in_doubt or end.unknown
                await self._rest()
            else:
                assert answer.accepted or is_in_doubt, "a settlement was refused that nobody had made before"
                self.log.settled.add(owned.lease.job)
                self._progress.set()
                return

    async def _rest(self) -> None:
        """No call is repeated before the server is back; then all of them are, at once."""
        self.log.outages += 1
        await self._is_back.wait()


async def test_a_crash_under_load_loses_nothing_that_was_acknowledged(
    own_server: OwnServer, own_dsn: str, opened: Opener
) -> None:
    """S0.4, S0.5, S2.2: enqueues, claims and settlements alike; the same store goes on by itself."""
    store = await opened(own_dsn, timeout=BOUND)
    log = await Load(store).run(own_server)

    assert log.outages >= PRODUCERS
    present = await jobs_in(store)
    assert log.recorded <= present.keys()
    assert not log.not_recorded & present.keys()
    for job, lease in log.claimed.items():
        assert (present[job] is State.SUCCEEDED) == (job in log.settled)
        assert [attempt.fence for attempt in await store.attempts(job)] == [lease.fence]
        assert hold_together(await store.events(job))


async def jobs_in(store: PostgresStore) -> dict[UUID, State]:
    """All jobs and their states, by plain SQL."""
    rows = await store._pool.run_task(
        lambda connection: connection.fetch("SELECT id, state FROM tenure.job_state")
    )
    return {row["id"]: State(row["state"]) for row in rows}


async def test_while_the_server_is_down_nothing_is_written_and_that_is_said(
    own_server: OwnServer, own_dsn: str, opened: Opener
) -> None:
    """S0.5: refused connections are certain; the store that saw them works as before afterwards."""
    store = await opened(own_dsn)
    before = await enqueue_one(store)
    [owned] = await claim(store)
    await asyncio.to_thread(own_server.stop_at_once)
    jobs = [uuid4() for _ in range(10)]
    ends = [await outage(store.enqueue([NewJob(definition="mail", id=job)])) for job in jobs]
    assert not any(end.unknown for end in ends[1:])

    # While it recovers it refuses as well, with another message.
    starting = asyncio.create_task(asyncio.to_thread(own_server.start_again))
    await recovered(store)
    await starting

    assert not set(jobs[1:]) & (await jobs_in(store)).keys()
    assert (await settle(store, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}
    assert await state_of(store, before) is State.SUCCEEDED


async def test_a_reader_goes_on_after_a_crash(own_server: OwnServer, own_dsn: str, opened: Opener) -> None:
    """The server forgets numbers that were given to nobody who wrote: no place of a reader is one of them."""
    store = await opened(own_dsn)
    await enqueue_one(store)
    await fed(store, 1)
    connection = await asyncpg.connect(own_dsn)
    for _ in range(50):
        await connection.execute("BEGIN; SELECT tenure.mark(); ROLLBACK")
    end = await store.end_of_feed()
    await connection.close()
    await asyncio.to_thread(own_server.stop_at_once)
    await asyncio.to_thread(own_server.start_again)
    later = [await recovered(store), await enqueue_one(store)]
    await store.verify()
    assert [entry.event.job for entry in await fed(store, 2, after=end)] == later
