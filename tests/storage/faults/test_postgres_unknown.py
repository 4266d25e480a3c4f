"""A lost answer: the error says that the write may have happened, and repeating the call is safe."""

import asyncio
from uuid import UUID, uuid4

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.clock import Clock
from tests.storage.faults.outages import BOUND, outage, recovered
from tests.storage.postgres.lock_waits import until_connections
from tests.storage.postgres.relay import Relay
from tests.storage.verbs import claim, count, enqueue_one, path_of, seconds, settle, state_of, succeeded

KEYED = NewJob(definition="mail", key="once")
NAMED = NewJob(definition="mail", id=uuid4())


@pytest.fixture
async def warm(far: PostgresStore) -> PostgresStore:
    """A store whose one connection has everything prepared: what it sends next is the statement itself."""
    await enqueue_one(far, key="another")  # jobs without a key are recorded by another statement
    [owned] = await claim(far)
    await settle(far, [succeeded(owned)])
    await far.hand_back("a", unstarted=[], killed=[])
    return far


@pytest.mark.parametrize("wanted", [KEYED, NAMED], ids=["by key", "by id"])
async def test_an_enqueue_whose_answer_was_lost_may_be_repeated(
    warm: PostgresStore, relay: Relay, backend: PostgresBackend, wanted: NewJob
) -> None:
    """The job was recorded, and the repeated call answers with it."""
    relay.cut_answer()
    assert (await outage(warm.enqueue([wanted]))).unknown
    assert await count(backend, "tenure.job") == 2

    [again] = await warm.enqueue([wanted])

    assert not again.fresh
    assert await count(backend, "tenure.job") == await count(backend, "tenure.job_state") == 2
    assert await state_of(warm, again.id) is State.QUEUED


@pytest.mark.parametrize("wanted", [KEYED, NAMED], ids=["by key", "by id"])
async def test_an_enqueue_that_arrives_late_or_never_may_be_repeated(
    warm: PostgresStore, relay: Relay, backend: PostgresBackend, wanted: NewJob
) -> None:
    """The network delivers it only after the caller got the error."""
    relay.stall(answers=False)
    assert (await outage(warm.enqueue([wanted]))).unknown
    assert await count(backend, "tenure.job") == 1
    relay.flow()

    async with asyncio.timeout(BOUND):
        [again] = await warm.enqueue([wanted])
    await relay.cut()
    await alone(backend)
    assert await count(backend, "tenure.job") == 2
    assert await backend.sql(f"SELECT FROM tenure.job WHERE id = '{again.id}'")


async def alone(backend: PostgresBackend) -> None:
    """Return once all other connections to the database have ended, with whatever they did."""
    await until_connections(backend, "true", 0)


async def test_a_settlement_whose_answer_was_lost_counts_once(warm: PostgresStore, relay: Relay) -> None:
    """It stands; reported again, it is lost, because the lease has ended with it."""
    job = await enqueue_one(warm)
    [owned] = await claim(warm)
    relay.cut_answer()
    assert (await outage(settle(warm, [succeeded(owned)]))).unknown

    again = await settle(warm, [succeeded(owned)])

    assert (again.accepted, list(again.lost)) == ({}, [owned.lease])
    assert await state_of(warm, job) is State.SUCCEEDED
    assert (await path_of(warm, job)).count("succeeded") == len(await warm.attempts(job)) == 1


async def test_a_settlement_that_never_arrived_is_accepted_when_repeated(
    warm: PostgresStore, relay: Relay
) -> None:
    job = await enqueue_one(warm)
    [owned] = await claim(warm)
    relay.stall(answers=False)
    assert (await outage(settle(warm, [succeeded(owned)]))).unknown
    await relay.cut()
    await relay.open()

    async with asyncio.timeout(BOUND):
        again = await settle(warm, [succeeded(owned)])

    assert again.accepted == {owned.lease: State.SUCCEEDED}
    assert (await path_of(warm, job)).count("succeeded") == len(await warm.attempts(job)) == 1


async def test_a_claim_whose_answer_was_lost_is_made_good_by_time(
    warm: PostgresStore, relay: Relay, backend: PostgresBackend, clock: Clock
) -> None:
    """The jobs belong to a lease that no worker knows; it runs out, and they are claimed again."""
    await warm.enqueue([NewJob(definition="mail") for _ in range(20)])
    known: set[UUID] = set()
    while not (orphans := await running(backend) - known):
        # Sometimes the answer that was lost is that of the look-up before the claim.
        known |= {owned.lease.job for owned in await claim(warm, limit=1, lease_for=seconds(90))}
        relay.cut_answer()
        assert (await outage(claim(warm, limit=1))).unknown

    await clock.advance(seconds(60))
    assert {moved.job for moved in await warm.reap(10)} == orphans
    again = await claim(warm, limit=20)
    assert orphans <= {owned.lease.job for owned in again}
    assert (await settle(warm, [succeeded(owned) for owned in again])).lost == []


async def running(backend: PostgresBackend) -> set[UUID]:
    return {job for (job,) in await backend.sql("SELECT id FROM tenure.job_state WHERE state = 'running'")}


async def test_a_hand_back_whose_answer_was_lost_counts_once(warm: PostgresStore, relay: Relay) -> None:
    job = await enqueue_one(warm)
    [owned] = await claim(warm)
    relay.cut_answer()
    assert (await outage(warm.hand_back("a", unstarted=[owned.lease], killed=[]))).unknown
    again = await warm.hand_back("a", unstarted=[owned.lease], killed=[])
    assert (again.accepted, list(again.lost)) == ({}, [owned.lease])
    assert await state_of(warm, job) is State.QUEUED


async def test_callers_who_shared_a_statement_share_the_doubt(
    warm: PostgresStore, relay: Relay, backend: PostgresBackend
) -> None:
    """Each repeats its own call, and all get the job that was recorded first."""
    wanted = [NewJob(definition="mail", key=f"key-{n}") for n in range(30)]
    relay.cut_answer()
    first = await asyncio.gather(*(warm.enqueue([job]) for job in wanted), return_exceptions=True)
    assert any(isinstance(answer, BaseException) for answer in first)
    again = await asyncio.gather(*(warm.enqueue([job]) for job in wanted))
    assert len({answer.id for [answer] in again}) == 30
    for before, [after] in zip(first, again, strict=True):
        if not isinstance(before, BaseException):
            assert before[0].id == after.id
    assert await count(backend, "tenure.job") == 31
    await recovered(warm)
