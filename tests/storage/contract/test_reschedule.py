"""Rescheduling: an operator gives a job that waits for a time another one."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.aside import JobsAside
from tenure.core.model.job import JobStanding, StepTaken
from tenure.core.model.states import State
from tenure.core.model.trail import RESCHEDULED
from tenure.core.values.bounds import HORIZON, MOST_NOTES
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    BOOM,
    MAIL,
    claim,
    count,
    enqueue_one,
    fed,
    found,
    hold_together,
    job_in,
    note,
    one_in_each_state,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    spoil_next_event,
    state_of,
)

WAITING = (State.SCHEDULED, State.RETRYING)


@pytest.mark.parametrize("state", WAITING)
async def test_a_job_that_waits_is_moved_to_a_later_time(
    store: Store, clock: Clock, backend: Backend, state: State
) -> None:
    """It stays in its state; its first time passes, and at the new one it is queued."""
    job = await job_in(store, state)
    later = START + seconds(1000)
    assert await store.reschedule([job], run_at=later) == [JobStanding(job, state, moved=True)]
    there = await found(store, job)
    assert (there.state, there.due_at, there.updated_at) == (state, later, START)
    assert (await store.outlook([MAIL])).next_timer == later
    assert await count(backend, "tenure.timer") == 1

    await clock.advance(seconds(999))
    assert await store.promote(10) == []
    await clock.advance(seconds(1))
    assert await store.promote(10) == [StepTaken(job, state, State.QUEUED)]
    assert hold_together(await store.events(job))
    assert await count(backend, "tenure.timer") == 0


@pytest.mark.parametrize("when", [{}, {"delay": seconds(0)}, {"run_at": START - timedelta(days=9)}])
async def test_now_and_a_time_that_has_passed_mean_at_once(store: Store, when: dict[str, Any]) -> None:
    jobs = [await job_in(store, state) for state in WAITING]
    assert all(one.moved for one in await store.reschedule(jobs, **when))
    assert [(await found(store, job)).due_at for job in jobs] == [START, START]
    assert {step.job for step in await store.promote(10)} == set(jobs)


async def test_a_delay_counts_from_now(store: Store, clock: Clock) -> None:
    job = await job_in(store, State.SCHEDULED)
    now = await clock.advance(seconds(7))
    await store.reschedule([job], delay=HORIZON)
    assert (await found(store, job)).due_at == now + HORIZON


async def test_a_job_that_is_retried_sooner_keeps_its_attempts(store: Store) -> None:
    """S2.15: only the wait is shorter: the last error stays, and the next attempt is the second."""
    job = await enqueue_one(store)
    await settle(store, [recoverable(owned, seconds(300)) for owned in await claim(store)])
    await store.reschedule([job])
    there = await found(store, job)
    assert (there.attempt, there.failures, there.error) == (1, 1, BOOM)
    await store.promote(10)
    assert [owned.attempt for owned in await claim(store)] == [2]


async def test_it_leaves_a_note_with_both_times_and_who_did_it(store: Store, clock: Clock) -> None:
    """The note is an event like any other: without a gap, in the feed too."""
    job = await job_in(store, State.SCHEDULED)
    now = await clock.advance(timedelta(seconds=1, microseconds=5))
    await store.reschedule([job], run_at=datetime(2040, 2, 29, 12, tzinfo=UTC), actor="key-of-ann")
    first, last = await store.events(job)
    assert (last.n, last.type, last.source, last.target) == (2, RESCHEDULED, State.SCHEDULED, State.SCHEDULED)
    assert (last.at, last.actor, last.attempt, last.fence) == (now, "key-of-ann", 0, 0)
    times = json.loads(last.payload or "")
    assert {name: datetime.fromisoformat(text) for name, text in times.items()} == {
        "from": START + seconds(60),
        "to": datetime(2040, 2, 29, 12, tzinfo=UTC),
    }
    assert first.target is State.SCHEDULED
    assert [entry.event for entry in await fed(store, 2)] == [first, last]


async def test_a_repeat_changes_nothing(store: Store, clock: Clock) -> None:
    """An answer may have been lost: asked again for the same, the job stays as it is, without a note."""
    later, now = [await job_in(store, State.SCHEDULED) for _ in range(2)]
    await store.reschedule([later], run_at=START + seconds(90))
    await store.reschedule([now])
    before = await record_of(store, later), await record_of(store, now)
    await clock.advance(seconds(1))
    answers = [*await store.reschedule([later], run_at=START + seconds(90)), *await store.reschedule([now])]
    assert answers == [JobStanding(job, State.SCHEDULED, moved=False) for job in (later, now)]
    assert (await record_of(store, later), await record_of(store, now)) == before


async def test_it_can_be_moved_again_and_back(store: Store, clock: Clock, backend: Backend) -> None:
    job = await job_in(store, State.SCHEDULED)
    for at in (30, 500, 60, 500):
        await store.reschedule([job], run_at=START + seconds(at))
    assert await path_of(store, job) == ["scheduled", *[RESCHEDULED] * 4]
    assert await count(backend, "tenure.timer") == 1
    await clock.advance(seconds(500))
    assert await store.promote(10) == [StepTaken(job, State.SCHEDULED, State.QUEUED)]


async def test_a_job_in_any_other_state_is_left_as_it_is(store: Store) -> None:
    """S0.24: only a job that waits for a time of its own can be given another."""
    jobs = await one_in_each_state(store)
    others = {state: job for state, job in jobs.items() if state not in WAITING}
    before = [await record_of(store, job) for job in others.values()]
    assert await store.reschedule([*others.values()], run_at=START + seconds(5)) == [
        JobStanding(job, state, moved=False) for state, job in others.items()
    ]
    assert [await record_of(store, job) for job in others.values()] == before


async def test_a_job_that_was_given_up_stays_given_up(store: Store, clock: Clock) -> None:
    job = await job_in(store, State.RETRYING)
    await store.give_up([job])
    assert await store.reschedule([job], delay=seconds(60)) == [
        JobStanding(job, State.RETRYING, moved=False, is_given_up=True)
    ]
    await clock.advance(seconds(1))
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]
    assert RESCHEDULED not in await path_of(store, job)


async def test_a_job_that_was_moved_can_be_given_up(store: Store) -> None:
    job = await job_in(store, State.RETRYING)
    await store.reschedule([job], delay=seconds(600))
    assert await store.give_up([job]) == [JobStanding(job, State.RETRYING, moved=True)]
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]


async def test_a_job_that_is_aside_stays_there(store: Store, clock: Clock, backend: Backend) -> None:
    job = await enqueue_one(store, delay=seconds(5), key="spoilt")
    await spoil_next_event(backend, "spoilt")
    await clock.advance(seconds(5))
    with pytest.raises(JobsAside):
        await store.promote(10)
    assert await store.reschedule([job]) == [JobStanding(job, State.SCHEDULED, moved=False, is_aside=True)]
    assert await count(backend, "tenure.timer") == 0


async def test_the_bound_on_notes_neither_refuses_it_nor_counts_it(store: Store, backend: Backend) -> None:
    """A job with all the notes it may have can be moved; one with room for one more has it afterwards."""
    for room in (0, 1):
        job = await enqueue_one(store)
        [owned] = await claim(store)
        await settle(store, [recoverable(owned, seconds(60))])
        await backend.sql(f"UPDATE tenure.job_state SET notes = {MOST_NOTES - room} WHERE id = '{job}'")
        assert [one.moved for one in await store.reschedule([job], delay=seconds(9))] == [True]
        assert (await path_of(store, job))[-1] == RESCHEDULED
        assert await store.annotate(owned.lease, note()) is bool(room)


async def test_a_job_that_has_lost_its_timer_gets_one(store: Store, backend: Backend) -> None:
    """A person with a shell has deleted it: to be given a time is to be given a timer."""
    job = await job_in(store, State.SCHEDULED)
    await backend.sql("DELETE FROM tenure.timer")
    await store.reschedule([job])
    assert await store.inspect() == []
    assert await store.promote(10) == [StepTaken(job, State.SCHEDULED, State.QUEUED)]


async def test_answers_come_in_the_order_asked_and_only_for_jobs_that_exist(store: Store) -> None:
    first, second = [await job_in(store, State.SCHEDULED) for _ in range(2)]
    queued = await job_in(store, State.QUEUED)
    answers = await store.reschedule([second, uuid4(), queued, first, second])
    assert [answer.job for answer in answers] == [second, queued, first, second]
    assert [answer.moved for answer in answers] == [True, False, True, True]
    assert await store.reschedule([]) == await store.reschedule([uuid4()]) == []


@pytest.mark.parametrize(
    ("when", "field"),
    [
        ({"run_at": datetime(2030, 1, 1)}, "run_at"),  # noqa: DTZ001
        ({"run_at": datetime(1969, 12, 31, tzinfo=UTC)}, "run_at"),
        ({"run_at": datetime(3000, 1, 2, tzinfo=UTC)}, "run_at"),
        ({"delay": seconds(-1)}, "delay"),
        ({"delay": HORIZON + seconds(1)}, "delay"),
        ({"run_at": START, "delay": seconds(1)}, "delay"),
    ],
)
async def test_a_time_that_no_job_may_have_is_refused(store: Store, when: dict[str, Any], field: str) -> None:
    """The same as for a new job; nothing changes."""
    job = await job_in(store, State.SCHEDULED)
    before = await record_of(store, job)
    with pytest.raises(InvalidInput) as refused:
        await store.reschedule([job], **when)
    assert refused.value.field == field
    assert await record_of(store, job) == before


async def test_a_job_that_was_moved_and_cancelled_leaves_no_timer(store: Store, backend: Backend) -> None:
    job = await job_in(store, State.RETRYING)
    await store.reschedule([job], delay=seconds(600))
    await store.cancel([job])
    assert await state_of(store, job) is State.CANCELLED
    assert await count(backend, "tenure.timer") == 0
