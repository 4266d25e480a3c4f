"""A network that stalls, resets or breaks off: an error within the timeout, and no reopening afterwards."""

import asyncio
from functools import partial

import asyncpg
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.pool import Connection
from tests.storage.backends import PostgresBackend
from tests.storage.contract.test_open_and_close import VERBS
from tests.storage.faults.conftest import TIMEOUT, Opener
from tests.storage.faults.outages import BOUND, connected, outage, outages, recovered
from tests.storage.postgres.lock_waits import until_waiting
from tests.storage.postgres.relay import Relay
from tests.storage.verbs import enqueue_one, state_of

STALLS = {
    "both ways": {"questions": True, "answers": True},
    "questions": {"questions": True, "answers": False},
    "answers": {"questions": False, "answers": True},
}


@pytest.mark.parametrize("stall", STALLS)
async def test_no_verb_waits_for_a_network_that_stands_still(
    relay: Relay, opened: Opener, stall: str
) -> None:
    """S0.5: each ends with an error, and the store works again as soon as the network does.

    Each has a connection of its own, so that it is the verb that waits for its answer and not for its turn.
    """
    store = await opened(relay.dsn, connections=len(VERBS))
    job = await enqueue_one(store)
    await connected(store, len(VERBS))
    relay.stall(**STALLS[stall])

    ends = await outages(*(verb(store) for verb in VERBS.values()))

    certain = [verb for verb, end in zip(VERBS, ends, strict=True) if not end.unknown]
    # These did not even get the connections that they open for themselves.
    assert certain == ["migrate", "inspect"]
    relay.flow()
    await recovered(store)
    assert await state_of(store, job) is State.QUEUED


async def test_a_connection_that_stalls_again_and_again_is_replaced_each_time(
    relay: Relay, opened: Opener
) -> None:
    """With one connection only: whatever is left behind by an outage would hold up everything else."""
    store = await opened(relay.dsn, connections=1)
    for _ in range(3):
        relay.stall(questions=False)
        await outage(store.now())
        relay.flow()
        await recovered(store)


async def test_what_the_driver_does_beside_the_statement_is_bounded_as_well(
    relay: Relay, opened: Opener
) -> None:
    """A new statement evicts an old one, which is closed on the same connection in between."""
    store = await opened(relay.dsn, connections=1)
    for number in range(120):
        await store._pool.run_task(partial(_prepare, number))
    relay.stall_after_answer()
    await outage(store.now())
    relay.flow()
    await recovered(store)


async def test_a_network_that_stands_still_within_a_transaction_keeps_nobody(
    relay: Relay, opened: Opener
) -> None:
    """To roll back a transaction the driver would wait for the server, too."""
    store = await opened(relay.dsn, connections=1)
    job = await enqueue_one(store)
    relay.stall_after_answer()
    assert (await outage(store.replay([job]))).unknown
    relay.flow()
    await recovered(store)


async def _prepare(number: int, connection: Connection) -> None:
    await connection.fetch(f"SELECT {number}")


async def test_who_no_longer_wants_an_answer_does_not_wait_for_the_network(
    backend: PostgresBackend, relay: Relay, foreign: asyncpg.Connection, opened: Opener
) -> None:
    """A caller with less patience than the store cancels, and is free at once."""
    store = await opened(relay.dsn, timeout=10 * BOUND)
    job = await enqueue_one(store)
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    call = asyncio.create_task(store.cancel([job]))
    await until_waiting(backend, 1)
    relay.stall()

    call.cancel()
    ended, _ = await asyncio.wait([call], timeout=BOUND)
    assert ended
    assert call.cancelled()


@pytest.mark.parametrize("stall", STALLS)
async def test_a_store_can_be_closed_though_the_network_stands_still(
    far: PostgresStore, relay: Relay, stall: str
) -> None:
    """Also while a call is under way, which gets an error."""
    await enqueue_one(far)
    relay.stall(**STALLS[stall])
    call = asyncio.create_task(far.enqueue([NewJob(definition="mail")]))
    await asyncio.sleep(0)  # it has begun
    async with asyncio.timeout(BOUND):
        await far.close()
    assert call.done()
    assert (await outage(call)).unknown


@pytest.mark.parametrize("stall", STALLS)
async def test_an_idle_store_can_be_closed_though_the_network_stands_still(
    far: PostgresStore, relay: Relay, stall: str
) -> None:
    """The server does not answer the disconnect; that is no error."""
    await enqueue_one(far)
    relay.stall(**STALLS[stall])
    async with asyncio.timeout(BOUND):
        await far.close()


async def test_a_store_that_cannot_be_opened_now_can_be_opened_later(relay: Relay) -> None:
    """The server accepts the connection and then says nothing; that nothing was written is certain."""
    store = PostgresStore(relay.dsn, timeout=TIMEOUT, notify=False)
    relay.stall()
    assert not (await outage(store.open())).unknown
    relay.flow()
    async with asyncio.timeout(BOUND):
        await store.open()
    await recovered(store)
    await store.close()


async def test_only_what_was_sent_may_have_been_written(
    far: PostgresStore, relay: Relay, backend: PostgresBackend, foreign: asyncpg.Connection
) -> None:
    """One call is under way on the only connection; the other needs a new one, which cannot be opened."""
    job = await enqueue_one(far)
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    sent = asyncio.create_task(far.cancel([job]))
    await until_waiting(backend, 1)
    relay.stall()
    unsent = asyncio.create_task(far.cancel([job]))
    assert [(await outage(call)).unknown for call in (sent, unsent)] == [True, False]


async def test_a_reset_costs_nobody_more_than_the_call_under_way(
    far: PostgresStore, relay: Relay, backend: PostgresBackend, foreign: asyncpg.Connection
) -> None:
    """S0.5: the connection in use and those that lie idle are gone at once, and replaced."""
    job = await enqueue_one(far)
    await asyncio.gather(*(far.now() for _ in range(10)))
    await foreign.execute("SELECT FROM tenure.job_state FOR UPDATE")
    call = asyncio.create_task(far.cancel([job]))
    await until_waiting(backend, 1)

    relay.reset()

    assert (await outage(call)).unknown
    await foreign.execute("ROLLBACK")
    await recovered(far)
    assert await state_of(far, job) in (State.QUEUED, State.CANCELLED)


@pytest.mark.parametrize("passed", [1, 4, 7, 40])
async def test_an_answer_that_breaks_off_is_no_answer(far: PostgresStore, relay: Relay, passed: int) -> None:
    """Within the first message and after it: half an answer never counts as a whole one."""
    await enqueue_one(far)
    relay.cut_answer(after=passed)
    assert (await outage(enqueue_one(far))).unknown
    await recovered(far)


async def test_a_network_that_is_gone_and_comes_back(far: PostgresStore, relay: Relay) -> None:
    """S0.5: refused connections are certain not to have written; the store needs no reopening."""
    job = await enqueue_one(far)
    await relay.cut()
    ends = [await outage(enqueue_one(far)) for _ in range(3)]
    assert not any(end.unknown for end in ends[1:])
    await relay.open()
    await recovered(far)
    assert await state_of(far, job) is State.QUEUED
