"""Accepting: held jobs are let go, once, and nothing else is touched."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.model.job import JobStanding, NewJob
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    job_in,
    path_of,
    record_of,
    seconds,
    state_of,
)

OTHERS = [state for state in State if state is not State.CREATED]


async def test_a_held_job_that_is_accepted_is_queued(store: Store, clock: Clock) -> None:
    """S0.18, S4.9: accepted, it is eligible."""
    job = await enqueue_one(store, hold=True)
    now = await clock.advance(seconds(5))
    assert await store.accept([job]) == [JobStanding(job, State.QUEUED, moved=True)]

    there = await found(store, job)
    assert (there.state, there.queued_at, there.updated_at, there.created_at) == (
        State.QUEUED,
        now,
        now,
        START,
    )
    assert [owned.lease.job for owned in await claim(store)] == [job]


async def test_a_held_job_with_a_time_ahead_is_scheduled(store: Store, clock: Clock) -> None:
    """S4.10: accepted, it waits for its time."""
    at = START + seconds(60)
    job = await enqueue_one(store, hold=True, run_at=at)
    await clock.advance(seconds(10))
    assert await store.accept([job]) == [JobStanding(job, State.SCHEDULED, moved=True)]
    assert (await found(store, job)).due_at == at
    assert await claim(store) == []

    await clock.advance(seconds(50))
    assert [step.job for step in await store.promote(10)] == [job]
    assert [owned.lease.job for owned in await claim(store)] == [job]


async def test_a_delay_counts_from_the_recording_not_from_the_acceptance(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store, hold=True, delay=seconds(60))
    await clock.advance(seconds(10))
    assert await store.accept([job]) == [JobStanding(job, State.SCHEDULED, moved=True)]
    assert (await found(store, job)).due_at == START + seconds(60)


@pytest.mark.parametrize("requested", [{"run_at": START + seconds(60)}, {"delay": seconds(60)}])
async def test_a_time_that_passed_while_the_job_was_held_means_now(
    store: Store, clock: Clock, backend: Backend, requested: dict[str, Any]
) -> None:
    job = await enqueue_one(store, hold=True, **requested)
    await clock.advance(seconds(60))
    assert await store.accept([job]) == [JobStanding(job, State.QUEUED, moved=True)]
    assert await count(backend, "tenure.timer") == 0
    assert [owned.lease.job for owned in await claim(store)] == [job]


async def test_a_job_takes_its_place_in_line_when_it_is_accepted(store: Store) -> None:
    held = await enqueue_one(store, hold=True)
    plain = await enqueue_one(store)
    await store.accept([held])
    assert [owned.lease.job for owned in await claim(store)] == [plain, held]


@pytest.mark.parametrize("state", OTHERS)
async def test_a_job_in_any_other_state_is_left_as_it_is(store: Store, clock: Clock, state: State) -> None:
    """S0.24: acceptance is a step of held jobs alone."""
    job = await job_in(store, state)
    before = await record_of(store, job)
    await clock.advance(seconds(1))
    assert await store.accept([job]) == [JobStanding(job, state, moved=False)]
    assert await record_of(store, job) == before


async def test_accepting_twice_moves_once(store: Store) -> None:
    job = await enqueue_one(store, hold=True)
    await store.accept([job])
    assert await store.accept([job]) == [JobStanding(job, State.QUEUED, moved=False)]
    assert await path_of(store, job) == ["created", "accepted"]
    assert len(await claim(store)) == 1


async def test_answers_come_in_the_order_asked_and_only_for_jobs_that_exist(store: Store) -> None:
    a, b, c = [answer.id for answer in await store.enqueue([NewJob(definition="mail", hold=True)] * 3)]
    answers = await store.accept([c, uuid4(), a, c, b])
    assert [answer.job for answer in answers] == [c, a, c, b]
    assert {answer.state for answer in answers} == {State.QUEUED}


async def test_nobody_asked_for_is_nobody_answered(store: Store) -> None:
    assert await store.accept([]) == []
    assert await store.accept([uuid4()]) == []


async def test_jobs_that_were_not_named_stay_held(store: Store) -> None:
    named, unnamed = await enqueue_one(store, hold=True), await enqueue_one(store, hold=True)
    await store.accept([named])
    assert await state_of(store, unnamed) is State.CREATED


async def test_a_thousand_are_accepted_in_one_call(store: Store, backend: Backend) -> None:
    jobs = [answer.id for answer in await store.enqueue([NewJob(definition="mail", hold=True)] * 1000)]
    answers = await store.accept(jobs[::-1])
    assert [answer.job for answer in answers] == jobs[::-1]
    assert all(answer.moved for answer in answers)
    assert await count(backend, "tenure.ready") == 1000


async def test_two_that_accept_at_once_move_each_job_once(
    store: Store, other: Store, backend: Backend
) -> None:
    """S0.11: a step is taken once, whoever asks."""
    jobs = [answer.id for answer in await store.enqueue([NewJob(definition="mail", hold=True)] * 100)]
    forth, back = await asyncio.gather(store.accept(jobs), other.accept(jobs[::-1]))
    for one, two in zip(forth, back[::-1], strict=True):
        assert one.moved != two.moved
    assert await count(backend, "tenure.ready") == 100


async def test_accepting_and_cancelling_at_once_ends_in_cancelled(store: Store, other: Store) -> None:
    for _ in range(20):
        job = await enqueue_one(store, hold=True)
        await asyncio.gather(store.accept([job]), other.cancel([job]))
        assert await state_of(store, job) is State.CANCELLED
        assert await path_of(store, job) in (["created", "cancelled"], ["created", "accepted", "cancelled"])
    assert await claim(store, limit=100) == []
