"""Giving up: an operator marks a job that waits to be retried, and the clock's next round ends it."""

import asyncio
from uuid import uuid4

import pytest

from tenure.core.model.job import JobStanding, NewJob, StepTaken
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    BOOM,
    claim,
    count,
    found,
    job_in,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    state_of,
)

OTHERS = [state for state in State if state is not State.RETRYING]


async def test_a_retrying_job_that_is_given_up_fails_at_the_next_round(store: Store, clock: Clock) -> None:
    """S2.15, S0.17: from waiting for a retry to the dead letters, before its backoff is over."""
    job = await job_in(store, State.RETRYING)
    assert await store.give_up([job]) == [JobStanding(job, State.RETRYING, moved=True)]
    assert await state_of(store, job) is State.RETRYING

    now = await clock.advance(seconds(1))
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]
    there = await found(store, job)
    assert (there.state, there.finished_at, there.due_at) == (State.FAILED, now, None)
    assert there.error == BOOM


async def test_the_mark_alone_is_no_step(store: Store) -> None:
    job = await job_in(store, State.RETRYING)
    await store.give_up([job])
    assert await path_of(store, job) == ["queued", "started", "retrying"]
    await store.promote(10)
    assert await path_of(store, job) == ["queued", "started", "retrying", "failed"]


async def test_the_clock_takes_the_step_that_was_asked_for(store: Store) -> None:
    job = await job_in(store, State.RETRYING)
    await store.give_up([job])
    await store.promote(10)
    last = (await store.events(job))[-1]
    assert (last.type, last.source, last.target) == ("failed", State.RETRYING, State.FAILED)
    assert (last.actor, last.attempt) == ("clock", 1)


async def test_a_job_given_up_does_not_run_again_when_its_backoff_is_over(
    store: Store, clock: Clock, backend: Backend
) -> None:
    """S2.15: given up outweighs due."""
    job = await job_in(store, State.RETRYING)
    await store.give_up([job])
    await clock.advance(seconds(60))
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]
    assert await store.promote(10) == []
    assert await count(backend, "tenure.timer") == 0
    assert await count(backend, "tenure.ready") == 0


async def test_giving_up_twice_marks_once(store: Store) -> None:
    job = await job_in(store, State.RETRYING)
    await store.give_up([job])
    assert await store.give_up([job]) == [JobStanding(job, State.RETRYING, moved=False)]
    assert await store.promote(10) == [StepTaken(job, State.RETRYING, State.FAILED)]
    assert await store.give_up([job]) == [JobStanding(job, State.FAILED, moved=False)]


@pytest.mark.parametrize("state", OTHERS)
async def test_a_job_in_any_other_state_is_left_as_it_is(store: Store, clock: Clock, state: State) -> None:
    """S0.24, S2.19: only a job that waits for its retry can be given up."""
    job = await job_in(store, state)
    before = await record_of(store, job)
    await clock.advance(seconds(1))
    assert await store.give_up([job]) == [JobStanding(job, state, moved=False)]
    assert await store.promote(10) == []
    assert await record_of(store, job) == before


async def test_others_that_wait_are_not_given_up_with_it(store: Store, clock: Clock) -> None:
    jobs = [await job_in(store, State.RETRYING) for _ in range(3)]
    await store.give_up([jobs[1]])
    await clock.advance(seconds(60))
    assert set(await store.promote(10)) == {
        StepTaken(jobs[0], State.RETRYING, State.QUEUED),
        StepTaken(jobs[1], State.RETRYING, State.FAILED),
        StepTaken(jobs[2], State.RETRYING, State.QUEUED),
    }


async def test_answers_come_in_the_order_asked_and_only_for_jobs_that_exist(store: Store) -> None:
    first, second = await job_in(store, State.RETRYING), await job_in(store, State.RETRYING)
    queued = await job_in(store, State.QUEUED)
    answers = await store.give_up([second, uuid4(), queued, first, second])
    assert [answer.job for answer in answers] == [second, queued, first, second]
    assert [answer.state for answer in answers] == [
        State.RETRYING,
        State.QUEUED,
        State.RETRYING,
        State.RETRYING,
    ]


async def test_nobody_asked_for_is_nobody_answered(store: Store) -> None:
    assert await store.give_up([]) == []
    assert await store.give_up([uuid4()]) == []


async def test_a_job_given_up_while_it_is_promoted_is_one_or_the_other(
    store: Store, other: Store, clock: Clock
) -> None:
    """S0.11: it is queued, or it is failed, and its history says the same."""
    for _ in range(10):
        made = [answer.id for answer in await store.enqueue([NewJob(definition="mail")] * 20)]
        await settle(store, [recoverable(owned) for owned in await claim(store, limit=20)])
        await clock.advance(seconds(5))
        marked, _ = await asyncio.gather(store.give_up(made), other.promote(20))
        await store.promote(20)
        for answer in marked:
            expected = State.FAILED if answer.moved else State.QUEUED
            assert await state_of(store, answer.job) is expected
        await store.cancel(made)
