"""Reading one job: the request, its state, its owner, how it ended."""

from datetime import timedelta
from uuid import uuid4

import pytest
from msgspec import structs

from tenure.core.model.job import Job, NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    BOOM,
    claim,
    enqueue_one,
    found,
    job_in,
    record_of,
    recoverable,
    seconds,
    settle,
    succeeded,
)

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def test_an_unknown_job_is_none(store: Store, backend: Backend) -> None:
    await enqueue_one(store)
    assert await store.get(uuid4()) is None


async def test_all_that_was_asked_for_is_there(store: Store) -> None:
    """S1.27, S3.16, S0.55: type, params, key, priority, attempts and time, beside the id."""
    requested = NewJob(
        definition="invoice.send",
        version=3,
        params=Document('{"to":"ä"}'),
        queue="billing",
        priority=-7,
        namespace="acme",
        scope="invoice.send@3",
        key="order 1",
        run_at=START + timedelta(days=2),
        policy=Policy(max_attempts=5),
        id=uuid4(),
        parent=await enqueue_one(store),
        replay_of=await enqueue_one(store),
        traceparent=TRACE,
        creator="k1",
    )
    [born] = await store.enqueue([requested])
    job = await found(store, born.id)
    for field in NewJob.__struct_fields__:
        if field not in {"delay", "hold"}:
            assert getattr(job, field) == getattr(requested, field), field


@pytest.mark.parametrize("number", [1, 3])
async def test_all_that_was_asked_for_of_plain_jobs_is_there(store: Store, number: int) -> None:
    """One, or several that differ in their params alone, may take a shorter way into the store."""
    plain = NewJob(
        definition="invoice.send",
        version=3,
        queue="billing",
        priority=-7,
        namespace="acme",
        scope="invoice.send@3",
        policy=Policy(max_attempts=5),
        parent=await enqueue_one(store),
        replay_of=await enqueue_one(store),
        traceparent=TRACE,
        creator="k1",
    )
    requested = [structs.replace(plain, params=Document(f'{{"to":"ä {n}"}}')) for n in range(number)]
    for job, born in zip(requested, await store.enqueue(requested), strict=True):
        kept = await found(store, born.id)
        for field in NewJob.__struct_fields__:
            if field not in {"delay", "hold", "id"}:
                assert getattr(kept, field) == getattr(job, field), field


async def test_what_was_not_asked_for_has_its_default(store: Store) -> None:
    """S1.39: version 1, empty params, priority 0, three attempts, none used; a definition."""
    job = await found(store, await enqueue_one(store))
    assert (job.definition, job.version, job.params, job.priority) == ("mail", 1, "{}", 0)
    assert (job.queue, job.namespace, job.scope, job.key) == ("default", "default", "", None)
    assert (job.state, job.attempt, job.policy) == (State.QUEUED, 0, Policy(max_attempts=3))
    assert (job.run_at, job.parent, job.replay_of, job.traceparent) == (None, None, None, None)


async def test_a_new_job_has_no_owner_and_no_past(store: Store) -> None:
    """S0.32, S0.13, S4.25: its times are the store's; nobody owns it."""
    job = await found(store, await enqueue_one(store))
    assert (job.state, job.created_at, job.updated_at, job.queued_at) == (State.QUEUED, START, START, START)
    assert (job.started_at, job.finished_at, job.cancel_requested_at) == (None, None, None)
    assert (job.worker, job.heartbeat_at, job.lease_expires_at, job.fence) == (None, None, None, 0)
    assert (job.failures, job.hand_backs, job.suspensions, job.events) == (0, 0, 0, 1)
    assert (job.progress, job.result, job.error) == (None, None, None)


async def test_a_running_job_shows_its_owner_and_how_long_the_lease_holds(store: Store, clock: Clock) -> None:
    """S0.31, S1.28, S1.29: who owns it, since when, until when."""
    job = await enqueue_one(store)
    now = await clock.advance(seconds(5))
    [owned] = await claim(store, worker="worker-7", lease_for=seconds(30))
    there = await found(store, job)

    assert (there.state, there.worker, there.fence) == (State.RUNNING, "worker-7", owned.lease.fence)
    assert (there.started_at, there.heartbeat_at, there.lease_expires_at) == (now, now, now + seconds(30))
    assert (there.attempt, there.queued_at, there.updated_at) == (1, START, now)


async def test_a_job_that_waits_for_its_backoff_shows_until_when(store: Store, clock: Clock) -> None:
    """S0.30, S2.8: failures are counted; it can be retried, and nobody owns it meanwhile."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    now = await clock.advance(seconds(5))
    await settle(store, [recoverable(owned, after=seconds(20))])
    there = await found(store, job)

    assert (there.state, there.due_at, there.failures) == (State.RETRYING, now + seconds(20), 1)
    assert (there.worker, there.heartbeat_at, there.lease_expires_at) == (None, None, None)
    assert (there.attempt, there.fence) == (1, owned.lease.fence)


async def test_a_succeeded_job_shows_its_result_and_no_owner(store: Store, clock: Clock) -> None:
    """S0.15, S1.28, S2.7: ended for good, with its answer."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    now = await clock.advance(seconds(5))
    await settle(store, [succeeded(owned, '{"sum": "3 €"}')])
    there = await found(store, job)

    assert (there.state, there.finished_at, there.started_at) == (State.SUCCEEDED, now, START)
    assert (there.result, there.error) == ('{"sum": "3 €"}', None)
    assert (there.worker, there.heartbeat_at, there.lease_expires_at) == (None, None, None)


async def test_a_job_that_used_up_its_attempts_is_failed_and_shows_its_error(
    store: Store, clock: Clock
) -> None:
    """S0.17, S2.9, S3.18: the retry limit is exceeded, and the row stays to be looked at."""
    job = await enqueue_one(store, policy=Policy(max_attempts=2))
    for _ in range(2):
        await settle(store, [recoverable(owned) for owned in await claim(store)])
        await clock.advance(seconds(5))
        await store.promote(10)
    there = await found(store, job)

    assert (there.state, there.attempt, there.failures) == (State.FAILED, 2, 2)
    assert (there.error, there.result) == (BOOM, None)
    assert there.finished_at is not None
    assert await claim(store) == []


async def test_a_cancelling_job_shows_when_it_was_asked_to_stop(store: Store, clock: Clock) -> None:
    """S1.29: the request is on record while the owner still works."""
    job = await enqueue_one(store)
    [owned] = await claim(store, worker="w")
    now = await clock.advance(seconds(3))
    await store.cancel([job])
    there = await found(store, job)
    assert (there.state, there.cancel_requested_at) == (State.CANCELLING, now)
    assert (there.worker, there.fence, there.finished_at) == ("w", owned.lease.fence, None)


@pytest.mark.parametrize("state", list(State))
async def test_a_job_is_in_exactly_one_state(store: Store, backend: Backend, state: State) -> None:
    """S0.11, S0.29: one row says where it is, in the word of its state."""
    job = await job_in(store, state)
    there = await found(store, job)
    assert there.state is state
    assert await backend.sql("SELECT state FROM tenure.job_state") == [(state.value,)]
    assert (there.worker is not None) == state.is_owned
    assert (there.finished_at is not None) == state.is_final
    assert there.events == len(await store.events(job))


async def test_the_time_of_the_last_change_moves_with_every_step(store: Store, clock: Clock) -> None:
    """S0.32: created once, updated with each step."""
    job = await enqueue_one(store, hold=True)
    seen = [await found(store, job)]
    await clock.advance(seconds(1))
    await store.accept([job])
    seen.append(await found(store, job))
    await clock.advance(seconds(1))
    [owned] = await claim(store)
    seen.append(await found(store, job))
    await clock.advance(seconds(1))
    await settle(store, [succeeded(owned)])
    seen.append(await found(store, job))

    assert [there.updated_at for there in seen] == [START + seconds(n) for n in range(4)]
    assert {there.created_at for there in seen} == {START}


async def test_the_time_of_the_last_change_moves_whoever_takes_the_step(store: Store, clock: Clock) -> None:
    """S0.32: a worker, the clock, the reaper and the api alike."""
    job = await enqueue_one(store, delay=seconds(1))
    seen = []
    for moment in range(1, 6):
        await clock.advance(seconds(1))
        match moment:
            case 1:
                await store.promote(10)
            case 2:
                [owned] = await claim(store)
                await store.hand_back("a", unstarted=[owned.lease], killed=[])
            case 3:
                await claim(store, lease_for=seconds(1))
            case 4:
                await store.reap(10)
            case 5:
                await store.cancel([job])
        seen.append((await found(store, job)).updated_at)
    assert seen == [START + seconds(n) for n in range(1, 6)]


async def test_reading_changes_nothing(store: Store, clock: Clock, backend: Backend) -> None:
    jobs = [await job_in(store, state) for state in State]
    before = await backend.sql("SELECT * FROM tenure.job_state ORDER BY id")
    await clock.advance(timedelta(days=1))
    first = [await record_of(store, job) for job in jobs]
    assert [await record_of(store, job) for job in jobs] == first
    assert await backend.sql("SELECT * FROM tenure.job_state ORDER BY id") == before


async def test_another_store_reads_what_was_last_committed(store: Store, other: Store) -> None:
    """S3.17, S0.4: the database is the one truth."""
    job = await enqueue_one(store)
    assert await found(other, job) == await found(store, job)
    [owned] = await claim(store)
    assert (await found(other, job)).state is State.RUNNING
    await settle(other, [succeeded(owned)])
    assert (await found(store, job)).state is State.SUCCEEDED


async def test_all_times_are_in_utc(store: Store) -> None:
    job = await found(store, await job_in(store, State.CANCELLING))
    for field in Job.__struct_fields__:
        if field.endswith("_at") and (at := getattr(job, field)) is not None:
            assert at.utcoffset() == timedelta(0), field
