"""What goes wrong with single jobs: repeated failures, leases that ran out, recent dead letters."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.reports.failures import MOST_COUNTED, Count, Struggling, Trouble
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, job_in, recoverable, seconds, settle, unrecoverable

HOUR = timedelta(hours=1)
TOUGH = Policy(max_attempts=9)


async def fail(store: Store, clock: Clock, times: int, after: timedelta) -> UUID:
    """A job that has failed so often and waits for its next attempt."""
    job = await enqueue_one(store, policy=TOUGH)
    for attempt in range(times):
        [owned] = await claim(store)
        await settle(store, [recoverable(owned, seconds(1) if attempt < times - 1 else after)])
        await clock.advance(seconds(1))
        await store.promote(10)
    return job


async def test_where_all_is_well_there_is_nothing(store: Store) -> None:
    for state in (State.QUEUED, State.RUNNING, State.SUCCEEDED, State.CANCELLED, State.RETRYING):
        await job_in(store, state)
    assert await store.trouble(HOUR) == Trouble(at=START, struggling=[], overdue=0, dead=Count(0))


async def test_who_fails_again_and_again_is_named_the_worst_first(store: Store, clock: Clock) -> None:
    """Those that failed once or twice are none of them."""
    late = timedelta(days=1)
    bad = await fail(store, clock, 3, late)
    await fail(store, clock, 2, late)
    worst = await fail(store, clock, 5, late)
    trouble = await store.trouble(HOUR)
    assert [(one.job, one.failures) for one in trouble.struggling] == [(worst, 5), (bad, 3)]
    due = clock.now - seconds(1) + late
    assert trouble.struggling[0] == Struggling(job=worst, line=MAIL, failures=5, max_attempts=9, due_at=due)
    await store.cancel([worst])
    assert [one.job for one in (await store.trouble(HOUR)).struggling] == [bad]


async def test_jobs_whose_lease_ran_out_are_counted_until_they_are_reaped(store: Store, clock: Clock) -> None:
    await store.enqueue([NewJob(definition="mail")] * 3)
    owned = await claim(store, limit=3, lease_for=seconds(10))
    await settle(store, [unrecoverable(owned[0])])
    assert (await store.trouble(HOUR)).overdue == 0
    await clock.advance(seconds(10))
    assert (await store.trouble(HOUR)).overdue == 2
    await store.reap(10)
    assert (await store.trouble(HOUR)).overdue == 0


async def test_the_dead_of_the_last_while_are_counted_as_far_as_a_bound(store: Store, clock: Clock) -> None:
    for definition in ("mail", "post"):
        await job_in(store, State.FAILED, queue=definition)
    await job_in(store, State.BURIED)
    await clock.advance(HOUR - seconds(1))
    await job_in(store, State.FAILED)
    assert (await store.trouble(HOUR)).dead == Count(4)
    await clock.advance(seconds(1))
    assert (await store.trouble(HOUR)).dead == Count(1)
    await store.enqueue([NewJob(definition="mail")] * MOST_COUNTED)
    await settle(store, [unrecoverable(owned) for owned in await claim(store, limit=MOST_COUNTED)])
    assert (await store.trouble(HOUR)).dead == Count(MOST_COUNTED, is_more=True)
