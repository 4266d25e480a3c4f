"""Connections that are all in use, here or on the server: no call waits longer than the timeout."""

import asyncio

import asyncpg

from tenure.core.errors import StoreBusy, StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.faults.conftest import TIMEOUT, Opener
from tests.storage.faults.outages import BOUND, outage, outages, recovered, until_nobody_waits
from tests.storage.postgres.lock_waits import until_waiting
from tests.storage.postgres.relay import Relay
from tests.storage.verbs import claim, count, enqueue_one, settle, state_of, succeeded


async def test_who_finds_all_connections_taken_is_told_so_in_time(
    backend: PostgresBackend, foreign: asyncpg.Connection, opened: Opener
) -> None:
    """One call waits for a lock on the only connection; the others wait for that, and have sent nothing."""
    store = await opened(backend.dsn, connections=1)
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    holding = asyncio.create_task(settle(store, [succeeded(owned)]))
    await until_waiting(backend, 1)

    waiting = [asyncio.create_task(store.events(job)) for _ in range(5)]
    waiting.append(asyncio.create_task(store.enqueue([NewJob(definition="mail")])))  # type: ignore[arg-type]

    assert (await outage(holding)).unknown
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    # A call that still has time when the connection becomes free is answered, or has sent its statement.
    assert sum(isinstance(end, StoreUnavailable) and end.unknown for end in answers) <= 1
    await until_nobody_waits(backend)
    await foreign.execute("ROLLBACK")
    await recovered(store)
    assert await state_of(store, job) is State.RUNNING
    assert (await settle(store, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}


async def test_a_long_line_for_few_connections_ends_all_at_once(
    backend: PostgresBackend, foreign: asyncpg.Connection, opened: Opener
) -> None:
    """A hundred callers and two connections: no call waits for those in front to time out one by one."""
    store = await opened(backend.dsn, connections=2)
    job = await enqueue_one(store)
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")

    ends = await outages(*(store.cancel([job]) for _ in range(100)))

    # Those that had a connection when their time was over, and those that got one of these at that moment.
    assert sum(end.unknown for end in ends) <= 10
    await foreign.execute("ROLLBACK")
    await recovered(store)
    # A call that was cancelled while it was sent may have been done after all.
    assert await state_of(store, job) in (State.QUEUED, State.CANCELLED)


async def test_enqueues_do_not_wait_for_more_than_the_statement_in_front(
    far: PostgresStore, relay: Relay, backend: PostgresBackend
) -> None:
    """Each call fills a statement of its own, and the network stands still: most are refused unsent."""
    await enqueue_one(far)
    relay.stall()
    batch = [NewJob(definition="mail")] * 600
    async with asyncio.timeout(BOUND):
        ends = await asyncio.gather(*(far.enqueue(batch) for _ in range(60)), return_exceptions=True)
    assert all(isinstance(end, StoreBusy | StoreUnavailable) for end in ends)
    assert sum(isinstance(end, StoreBusy) for end in ends) > 50
    assert await count(backend, "tenure.job") == 1
    relay.flow()
    await recovered(far)


async def test_what_waits_for_a_connection_is_finished_before_the_store_closes(
    backend: PostgresBackend, foreign: asyncpg.Connection, opened: Opener
) -> None:
    store = await opened(backend.dsn, connections=1, timeout=10 * BOUND)
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    settling = asyncio.create_task(settle(store, [succeeded(owned)]))
    await until_waiting(backend, 1)
    reading = asyncio.create_task(store.get(job))
    await asyncio.sleep(0)
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)

    await foreign.execute("ROLLBACK")
    async with asyncio.timeout(BOUND):
        await closing
        assert (await settling).accepted == {owned.lease: State.SUCCEEDED}
        assert await reading is not None


async def test_a_server_without_a_connection_to_spare(own_dsn: str, opened: Opener) -> None:
    """Who has none is refused, and nothing was sent; calls of a store that has one share it."""
    store = await opened(own_dsn, timeout=30.0)  # forty calls take turns
    job = await enqueue_one(store)
    others = await take_all(own_dsn)
    try:
        late = PostgresStore(own_dsn, timeout=TIMEOUT, notify=False)
        assert not (await outage(late.open())).unknown
        await asyncio.gather(*(enqueue_one(store) for _ in range(20)), *(store.now() for _ in range(20)))

        await others.pop().close()
        await late.open()
        await late.close()
        assert await state_of(store, job) is State.QUEUED
    finally:  # the server is there for other tests, too
        await asyncio.gather(*(other.close() for other in others))


async def take_all(dsn: str) -> list[asyncpg.Connection]:
    """Connect until the server gives no more."""
    taken: list[asyncpg.Connection] = []
    while True:
        try:
            taken.append(await asyncpg.connect(dsn))
        except asyncpg.TooManyConnectionsError:
            return taken
