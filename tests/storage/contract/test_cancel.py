"""Cancelling: unowned jobs end at once, owned ones are asked to stop, finished ones stay as they are."""

import asyncio
from uuid import uuid4

import pytest

from tenure.core.model.job import JobStanding, NewJob
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    job_in,
    path_of,
    record_of,
    seconds,
    settle,
    state_of,
    stopped,
)

UNOWNED = [state for state in State if not state.is_owned and not state.is_final]
STOPPING = [state for state in State if state is State.CANCELLING or state.is_final]


@pytest.mark.parametrize("state", UNOWNED)
async def test_a_job_that_nobody_owns_is_cancelled_at_once(store: Store, clock: Clock, state: State) -> None:
    """S1.32, S4.19: whatever it waits for, it ends now."""
    job = await job_in(store, state)
    now = await clock.advance(seconds(1))
    assert await store.cancel([job]) == [JobStanding(job, State.CANCELLED, moved=True)]

    there = await found(store, job)
    assert (there.state, there.finished_at, there.updated_at) == (State.CANCELLED, now, now)
    assert there.due_at is None
    last = (await store.events(job))[-1]
    assert (last.type, last.source, last.target) == ("cancelled", state, State.CANCELLED)


async def test_a_running_job_is_asked_to_stop_and_its_owner_ends_it(store: Store, clock: Clock) -> None:
    """S1.33: running, cancelling, cancelled."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    assert await store.cancel([job]) == [JobStanding(job, State.CANCELLING, moved=True)]
    assert (await found(store, job)).finished_at is None

    now = await clock.advance(seconds(2))
    assert (await settle(store, [stopped(owned)])).accepted == {owned.lease: State.CANCELLED}
    assert (await found(store, job)).finished_at == now
    assert await path_of(store, job) == ["queued", "started", "cancelling", "cancelled"]


@pytest.mark.parametrize("state", STOPPING)
async def test_a_job_that_stops_or_has_ended_is_left_as_it_is(
    store: Store, clock: Clock, state: State
) -> None:
    """S0.24: terminal is terminal, and asked to stop is asked to stop."""
    job = await job_in(store, state)
    before = await record_of(store, job)
    await clock.advance(seconds(1))
    assert await store.cancel([job], actor="somebody", reason="late") == [
        JobStanding(job, state, moved=False)
    ]
    assert await record_of(store, job) == before


async def test_cancelling_twice_moves_once_and_keeps_the_first_request(store: Store, clock: Clock) -> None:
    job = await job_in(store, State.RUNNING)
    first = await clock.advance(seconds(1))
    await store.cancel([job], actor="ann")
    await clock.advance(seconds(1))
    assert await store.cancel([job], actor="bob") == [JobStanding(job, State.CANCELLING, moved=False)]
    assert (await found(store, job)).cancel_requested_at == first
    assert [event.actor for event in await store.events(job) if event.type == "cancelling"] == ["ann"]


async def test_who_cancelled_and_why_is_on_record(store: Store) -> None:
    plain, explained, running = [
        await job_in(store, State(word)) for word in ("queued", "created", "running")
    ]
    await store.cancel([plain])
    await store.cancel([explained, running], actor="ann", reason="the order was withdrawn – čas vypršel")
    last_events = [(await store.events(job))[-1] for job in (plain, explained, running)]
    assert [(event.actor, event.reason) for event in last_events] == [
        ("api", None),
        ("ann", "the order was withdrawn – čas vypršel"),
        ("ann", "the order was withdrawn – čas vypršel"),
    ]


@pytest.mark.parametrize("state", UNOWNED)
async def test_a_cancelled_job_is_never_claimed_and_nothing_waits_for_it(
    store: Store, clock: Clock, backend: Backend, state: State
) -> None:
    """S1.32: no place in line and no timer is left behind."""
    job = await job_in(store, state)
    await store.cancel([job])
    assert await count(backend, "tenure.ready") == 0
    assert await count(backend, "tenure.timer") == 0

    await clock.advance(seconds(3600))
    assert await store.promote(10) == []
    assert await claim(store, lines=[Line("default", each.value) for each in State]) == []
    assert await state_of(store, job) is State.CANCELLED


async def test_a_job_that_was_given_up_can_still_be_cancelled(store: Store, backend: Backend) -> None:
    job = await job_in(store, State.RETRYING)
    await store.give_up([job])
    assert await store.cancel([job]) == [JobStanding(job, State.CANCELLED, moved=True)]
    assert await store.promote(10) == []
    assert await state_of(store, job) is State.CANCELLED
    assert await count(backend, "tenure.timer") == 0


async def test_a_cancelling_job_belongs_to_its_owner_alone(store: Store) -> None:
    job = await enqueue_one(store)
    await claim(store, worker="a")
    await store.cancel([job])
    assert await claim(store, worker="b") == []


async def test_answers_come_in_the_order_asked_and_only_for_jobs_that_exist(store: Store) -> None:
    queued, running, done = [await job_in(store, State(word)) for word in ("queued", "running", "succeeded")]
    answers = await store.cancel([done, uuid4(), running, queued, done, running])
    assert [(answer.job, answer.state) for answer in answers] == [
        (done, State.SUCCEEDED),
        (running, State.CANCELLING),
        (queued, State.CANCELLED),
        (done, State.SUCCEEDED),
        (running, State.CANCELLING),
    ]
    assert await path_of(store, running) == ["queued", "started", "cancelling"]


async def test_nobody_asked_for_is_nobody_answered(store: Store) -> None:
    assert await store.cancel([]) == []
    assert await store.cancel([uuid4()]) == []


async def test_neighbours_in_line_are_not_touched(store: Store) -> None:
    jobs = [answer.id for answer in await store.enqueue([NewJob(definition="mail")] * 9)]
    await store.cancel(jobs[::2])
    assert [owned.lease.job for owned in await claim(store)] == jobs[1::2]


async def test_two_that_cancel_at_once_move_each_job_once(store: Store, other: Store) -> None:
    """S0.11: a step is taken once, whoever asks, and nobody deadlocks."""
    jobs = [answer.id for answer in await store.enqueue([NewJob(definition="mail")] * 200)]
    await claim(store, limit=100)
    forth, back = await asyncio.gather(store.cancel(jobs), other.cancel(jobs[::-1]))
    for one, two in zip(forth, back[::-1], strict=True):
        assert one.moved != two.moved
    assert [answer.state for answer in forth] == [State.CANCELLING] * 100 + [State.CANCELLED] * 100


async def test_a_job_cancelled_while_it_is_claimed_is_one_or_the_other(store: Store, other: Store) -> None:
    """S1.32, S1.33: either nobody runs it, or its owner is told to stop."""
    for _ in range(10):
        jobs = [answer.id for answer in await store.enqueue([NewJob(definition="mail")] * 50)]
        claimed, answers = await asyncio.gather(claim(store, limit=25), other.cancel(jobs))
        taken = {owned.lease.job for owned in claimed}
        stopping = {answer.job for answer in answers if answer.state is State.CANCELLING}
        assert all(answer.moved for answer in answers)
        assert stopping == taken
        assert {await state_of(store, job) for job in jobs} <= {State.CANCELLING, State.CANCELLED}


async def test_a_job_that_has_moved_on_is_left_where_it_is(store: Store) -> None:
    """Who meant jobs that wait does not stop one that has begun since it was looked at."""
    running, waiting = await job_in(store, State.RUNNING), await enqueue_one(store)
    held = await enqueue_one(store, hold=True)
    before = await record_of(store, running)
    standings = await store.cancel([running, waiting, held], states=[State.QUEUED, State.CREATED])
    assert [(one.state, one.moved) for one in standings] == [
        (State.RUNNING, False),
        (State.CANCELLED, True),
        (State.CANCELLED, True),
    ]
    assert await record_of(store, running) == before
    assert not (await store.cancel([running], states=[]))[0].moved
