"""The feed: the events of all jobs in one order that never changes, none missed and none twice."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import Event, NewJob
from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.reports.reading import FeedEntry
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.contract.histories import lives
from tests.storage.verbs import (
    claim,
    enqueue_one,
    fed,
    found,
    job_in,
    one_in_each_state,
    seconds,
    settle,
    spoil_next_event,
    step_over_spoilt_event,
    succeeded,
)


async def histories(store: Store, jobs: Iterable[UUID]) -> dict[UUID, list[Event]]:
    return {job: await store.events(job) for job in jobs}


def by_job(entries: Iterable[FeedEntry]) -> dict[UUID, list[Event]]:
    """The feed, taken apart again: the events of each job in the order in which they came."""
    taken: dict[UUID, list[Event]] = defaultdict(list)
    for entry in entries:
        taken[entry.event.job].append(entry.event)
    return dict(taken)


async def whole_feed(store: Store, jobs: Iterable[UUID], limit: int = 1000) -> list[FeedEntry]:
    number = sum(len(history) for history in (await histories(store, jobs)).values())
    return await fed(store, number, limit=limit)


async def test_a_store_without_jobs_has_no_feed(store: Store) -> None:
    assert await store.feed() == []
    assert await store.feed(await store.end_of_feed()) == []


@pytest.mark.parametrize("limit", [1, 7, 1000])
async def test_every_event_of_every_job_comes_once(store: Store, clock: Clock, limit: int) -> None:
    """S1.44: read in pieces of any size, a job's own events by their numbers."""
    jobs: list[UUID] = []
    async for _, known in lives(store, clock):
        jobs = known
    assert by_job(await whole_feed(store, jobs, limit)) == await histories(store, jobs)


async def test_reading_on_after_every_verb_misses_nothing(store: Store, clock: Clock) -> None:
    """S1.44: whoever goes on from the last position has seen it all."""
    entries: list[FeedEntry] = []
    jobs: list[UUID] = []
    async for verb, jobs in lives(store, clock):
        expected = await histories(store, jobs)
        missing = sum(len(history) for history in expected.values()) - len(entries)
        entries += await fed(store, missing, after=entries[-1].position if entries else None)
        assert by_job(entries) == expected, verb
    assert [entry.position for entry in entries] == [
        entry.position for entry in await whole_feed(store, jobs)
    ]


async def test_positions_only_grow(store: Store, clock: Clock) -> None:
    jobs = list((await one_in_each_state(store)).values())
    entries = await whole_feed(store, jobs, limit=5)
    positions = [entry.position for entry in entries]
    assert all(before < after for before, after in pairwise(positions))
    assert {(position.job, position.n) for position in positions} == {
        (entry.event.job, entry.event.n) for entry in entries
    }


async def test_what_comes_later_stands_behind(store: Store, other: Store) -> None:
    """Whichever process it is that writes."""
    jobs = [await enqueue_one((store, other)[n % 2]) for n in range(6)]
    await other.cancel([jobs[0]])
    entries = await fed(store, 7)
    assert [entry.event.job for entry in entries] == [*jobs, jobs[0]]
    assert [entry.position for entry in await fed(other, 7)] == [entry.position for entry in entries]


@pytest.mark.parametrize(
    ("requested", "born"),
    [({"hold": True}, State.CREATED), ({"delay": seconds(60)}, State.SCHEDULED), ({}, State.QUEUED)],
)
async def test_a_creation_is_told_as_it_was(store: Store, requested: dict[str, Any], born: State) -> None:
    """S1.44: also when the job has long moved on."""
    job = await enqueue_one(store, **requested)
    [entry] = await fed(store, 1)
    assert (entry.event.type, entry.event.source, entry.event.target) == (born.value, None, born)
    assert [entry.event] == await store.events(job)
    await store.cancel([job])
    first, second = await fed(store, 2)
    assert first == entry
    assert (second.event.source, second.event.target) == (born, State.CANCELLED)


async def test_an_entry_tells_whose_event_it_is(store: Store) -> None:
    await enqueue_one(store, "post", version=3, queue="slow", namespace="theirs")
    await enqueue_one(store)
    await claim(store)
    entries = await fed(store, 3)
    assert [(entry.line, entry.namespace) for entry in entries] == [
        (Line("slow", "post", 3), "theirs"),
        (Line("default", "mail"), "default"),
        (Line("default", "mail"), "default"),
    ]


async def test_from_the_end_of_the_feed_only_later_events_come(store: Store, clock: Clock) -> None:
    """For who wants to follow and not to read history."""
    job = await job_in(store, State.RUNNING)
    await fed(store, 2)
    end = await store.end_of_feed()
    assert await store.feed(end) == []
    await store.cancel([job])
    later = await enqueue_one(store)
    entries = await fed(store, 2, after=end)
    assert [(entry.event.job, entry.event.target) for entry in entries] == [
        (job, State.CANCELLING),
        (later, State.QUEUED),
    ]


async def test_the_end_of_an_empty_feed_is_before_all_that_comes(store: Store) -> None:
    end = await store.end_of_feed()
    job = await enqueue_one(store)
    assert [entry.event.job for entry in await fed(store, 1, after=end)] == [job]


async def test_what_one_call_wrote_comes_whole_in_pieces_of_any_size(store: Store) -> None:
    """A boundary may fall between events that were written together."""
    born = [job.id for job in await store.enqueue([NewJob(definition="mail") for _ in range(25)])]
    await settle(store, [succeeded(claimed) for claimed in await claim(store, limit=25)])
    for limit in (1, 10, 24):
        assert by_job(await fed(store, 75, limit=limit)) == await histories(store, born)


async def test_pruned_jobs_vanish_from_the_feed(store: Store, clock: Clock) -> None:
    """And who had read that far goes on with the others."""
    jobs = await one_in_each_state(store)
    entries = await whole_feed(store, jobs.values())
    await clock.advance(seconds(1))
    await store.prune(Retention(succeeded=timedelta(0), others=timedelta(0)))
    left = [job for state, job in jobs.items() if not state.is_final]
    assert by_job(await whole_feed(store, left)) == await histories(store, left)
    middle = entries[len(entries) // 2].position
    remaining = [entry for entry in entries if entry.position > middle and entry.event.job in left]
    assert await fed(store, len(remaining), after=middle) == remaining


async def test_an_event_that_nobody_counted_is_not_told(store: Store, backend: Backend) -> None:
    """It does not end the feed before its end either, in whatever pieces that is read."""
    jobs = [await enqueue_one(store, key=f"spoilt-{n}") for n in range(5)]
    for n in range(5):
        await spoil_next_event(backend, f"spoilt-{n}")
    jobs.append(await enqueue_one(store))
    for limit in (1, 2, 1000):
        assert [entry.event.job for entry in await fed(store, 6, limit=limit)] == jobs
    await step_over_spoilt_event(backend, "spoilt-0")
    assert (await found(store, jobs[0])).events == 2


@pytest.mark.parametrize("limit", [0, -1, 10_001])
async def test_a_reading_of_no_size_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        await store.feed(limit=limit)
