"""The history of a job: every step on record, in order, without gaps, and nothing that did not happen."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure.core.errors import InvalidInput, StoreRefused
from tenure.core.model.job import Event
from tenure.core.model.states import STEPS, State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    claim,
    enqueue_one,
    found,
    job_in,
    path_of,
    recoverable,
    seconds,
    settle,
    spoil_next_event,
    state_of,
    succeeded,
)

LEGAL = {(step.source, step.target, step.event) for step in STEPS}


@pytest.mark.parametrize(
    ("requested", "born"),
    [({"hold": True}, State.CREATED), ({"delay": seconds(60)}, State.SCHEDULED), ({}, State.QUEUED)],
)
async def test_the_history_begins_with_the_creation(
    store: Store, requested: dict[str, Any], born: State
) -> None:
    """S4.1, S0.11: how it was recorded is the first thing on record."""
    job = await enqueue_one(store, **requested)
    assert await store.events(job) == [
        Event(
            job=job, n=1, type=born.value, source=None, target=born, attempt=0, fence=0, at=START, actor="api"
        )
    ]


async def test_a_life_from_its_creation_to_its_success_is_on_record(store: Store, clock: Clock) -> None:
    """S1.44, S3.18: what happened, when by the store's time, under which fence, and by whom."""
    job = await enqueue_one(store, hold=True)
    at = [START, await clock.advance(seconds(1))]
    await store.accept([job])
    at.append(await clock.advance(seconds(2)))
    [first] = await claim(store, worker="ann")
    at.append(await clock.advance(seconds(3)))
    await settle(store, [recoverable(first, after=seconds(4))], worker="ann")
    at.append(await clock.advance(seconds(4)))
    await store.promote(10)
    at.append(await clock.advance(seconds(5)))
    [second] = await claim(store, worker="bob")
    at.append(await clock.advance(seconds(6)))
    await settle(store, [succeeded(second)], worker="bob")

    one, two = first.lease.fence, second.lease.fence
    created, queued, running, retrying = State.CREATED, State.QUEUED, State.RUNNING, State.RETRYING
    lived: list[tuple[str, State | None, State, int, int, str]] = [
        ("created", None, created, 0, 0, "api"),
        ("accepted", created, queued, 0, 0, "api"),
        ("started", queued, running, 1, one, "ann"),
        ("retrying", running, retrying, 1, one, "ann"),
        ("queued", retrying, queued, 1, one, "clock"),
        ("started", queued, running, 2, two, "bob"),
        ("succeeded", running, State.SUCCEEDED, 2, two, "bob"),
    ]
    assert one < two
    assert await store.events(job) == [
        Event(
            job=job, n=n, type=word, source=source, target=to, attempt=attempt, fence=fence, at=when, actor=by
        )
        for n, (when, (word, source, to, attempt, fence, by)) in enumerate(zip(at, lived, strict=True), 1)
    ]


@pytest.mark.parametrize("state", list(State))
async def test_every_history_is_a_chain_of_legal_steps(store: Store, state: State) -> None:
    """S0.24, S1.44: each step begins where the last one ended, and stands in the table."""
    job = await job_in(store, state)
    events = await store.events(job)
    assert [event.n for event in events] == list(range(1, len(events) + 1))
    assert [event.source for event in events] == [None, *[event.target for event in events[:-1]]]
    assert {(event.source, event.target, event.type) for event in events} <= LEGAL
    assert events[-1].target is state
    assert {event.job for event in events} == {job}
    assert (await found(store, job)).events == len(events)


async def test_the_history_of_many_rounds_has_no_gaps(store: Store) -> None:
    job = await enqueue_one(store)
    for _ in range(15):
        [owned] = await claim(store)
        await store.hand_back("a", unstarted=[owned.lease], killed=[])
    assert await path_of(store, job) == ["queued", *["started", "handed_back"] * 15]
    events = await store.events(job)
    assert [event.n for event in events] == list(range(1, 32))
    fences = [event.fence for event in events]
    assert fences == sorted(fences)


async def test_an_unknown_job_has_no_history(store: Store) -> None:
    await enqueue_one(store)
    assert await store.events(uuid4()) == []


async def test_each_job_has_a_history_of_its_own(store: Store) -> None:
    one, two = await enqueue_one(store), await enqueue_one(store, hold=True)
    await store.cancel([two])
    assert await path_of(store, one) == ["queued"]
    assert await path_of(store, two) == ["created", "cancelled"]


async def test_what_was_refused_is_not_on_record(store: Store, clock: Clock) -> None:
    """S0.11: no step, no event."""
    job = await enqueue_one(store)
    [late] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(31))
    before = await store.events(job)

    assert (await settle(store, [succeeded(late)])).lost == [late.lease]
    await store.accept([job])
    await store.give_up([job])
    assert await store.promote(10) == []
    assert await store.events(job) == before


async def test_a_call_that_failed_leaves_no_event_behind(store: Store, backend: Backend) -> None:
    """S3.25: a step and its event are written together, or not at all."""
    whole, spoilt = await enqueue_one(store), await enqueue_one(store, key="spoilt")
    await spoil_next_event(backend, "spoilt")
    with pytest.raises(StoreRefused):
        await store.cancel([whole, spoilt])
    assert await path_of(store, whole) == ["queued"]
    assert (await found(store, whole)).events == (await found(store, spoilt)).events == 1
    assert await state_of(store, whole) is await state_of(store, spoilt) is State.QUEUED


async def test_a_reason_of_any_length_is_kept(store: Store) -> None:
    job = await enqueue_one(store)
    why = "because 'it' – \"was\" \n" * 200
    await store.cancel([job], reason=why)
    assert (await store.events(job))[-1].reason == why


async def test_a_reason_is_recorded_even_with_characters_that_no_store_takes(store: Store) -> None:
    job = await enqueue_one(store)
    await store.cancel([job], actor="ann \udcff", reason="because \ud800\x00 of it")
    last = (await store.events(job))[-1]
    assert last.actor.startswith("ann ")
    assert last.reason is not None
    assert last.reason.startswith("because ")


async def test_the_history_outlives_the_end_of_the_job(store: Store, clock: Clock) -> None:
    """S0.72: nobody who works on a job deletes it or what is known of it."""
    job = await job_in(store, State.SUCCEEDED)
    await clock.advance(timedelta(days=3000))
    await store.promote(100)
    await store.reap(100)
    assert await claim(store) == []
    assert await path_of(store, job) == ["queued", "started", "succeeded"]
    assert len(await store.attempts(job)) == 1


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
async def test_whoever_reads_on_misses_nothing(store: Store, limit: int) -> None:
    """In pieces of any size, and while more is added."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    read: list[Event] = []
    while piece := await store.events(job, after=read[-1].n if read else 0, limit=limit):
        assert len(piece) <= limit
        read += piece
        await settle(store, [succeeded(owned)])
    assert read == await store.events(job)
    assert [event.n for event in read] == [1, 2, 3]


async def test_a_part_of_a_history_is_asked_for_in_numbers(store: Store) -> None:
    job = await enqueue_one(store)
    for after, limit in ((-1, 1), (0, 0), (2**63, 1)):
        with pytest.raises(InvalidInput):
            await store.events(job, after=after, limit=limit)
        with pytest.raises(InvalidInput):
            await store.attempts(job, after=after, limit=limit)
    assert await store.events(job, after=2**63 - 1) == []
