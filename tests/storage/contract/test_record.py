"""Recording: what an attempt says while its lease holds is kept, in order; what comes too late is not."""

import asyncio
from uuid import uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed, Lease
from tenure.core.model.states import State
from tenure.core.model.trail import HOOK_FAILED, Note, Recorded, Trail
from tenure.core.values.bounds import LARGEST_TRAIL, LONGEST_LINE, MOST_NOTES
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    fed,
    found,
    hold_together,
    line,
    lines_of,
    note,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    succeeded,
    trail,
)

ALL_WELL = Recorded(lost=frozenset(), full=frozenset())


async def owned_one(store: Store, worker: str = "a") -> Claimed:
    await enqueue_one(store)
    [owned] = await claim(store, worker=worker, lease_for=seconds(30))
    return owned


async def nothing_came_of(store: Store, lease: Lease, worker: str = "a") -> None:
    """Record under a lease that does not hold: it is lost, and the job is as it was."""
    before = await record_of(store, lease.job), await lines_of(store, lease.job)
    answer = await store.record(worker, [trail(lease, line(9), note())])
    assert answer == Recorded(lost=frozenset({lease}), full=frozenset())
    assert (await record_of(store, lease.job), await lines_of(store, lease.job)) == before


async def test_lines_are_kept_as_they_were_written(store: Store) -> None:
    """With level, time and fields, under the attempt that wrote them."""
    owned = await owned_one(store)
    parts = [line(1, "one"), line(2, "čas – 2", "error", Document('{"to":"ann"}')), line(3, "", "stdout")]
    assert await store.record("a", [trail(owned, *parts)]) == ALL_WELL
    assert await store.logs(owned.lease.job) == [(owned.lease.fence, one) for one in parts]


async def test_a_note_is_an_event_of_its_job(store: Store, clock: Clock) -> None:
    """S1.44: with its payload, by the worker that speaks for the attempt, at the store's time."""
    owned = await owned_one(store, "ann")
    now = await clock.advance(seconds(3))
    notes = [note("begun", '{"by":"ann"}'), Note(HOOK_FAILED), note("half", "50")]
    assert await store.record("ann", [trail(owned, *notes)]) == ALL_WELL
    job = owned.lease.job
    events = await store.events(job)
    assert [(event.n, event.type, event.payload) for event in events[2:]] == [
        (3, "custom:begun", '{"by":"ann"}'),
        (4, "hook_failed", None),
        (5, "custom:half", "50"),
    ]
    assert {(event.source, event.target, event.attempt, event.fence) for event in events[2:]} == {
        (State.RUNNING, State.RUNNING, 1, owned.lease.fence)
    }
    assert {(event.at, event.actor, event.reason) for event in events[2:]} == {(now, "ann", None)}
    there = await found(store, job)
    assert (there.state, there.events, there.updated_at) == (State.RUNNING, 5, now)
    assert (await store.attempts(job))[0].ended_at is None


async def test_steps_and_notes_are_counted_together(store: Store, clock: Clock) -> None:
    """S1.44: whatever is said in between, a history has no gaps."""
    owned = await owned_one(store)
    job = owned.lease.job
    await store.record("a", [trail(owned, note("one"))])
    await store.record("a", [trail(owned, note("two"))])
    await settle(store, [recoverable(owned, after=seconds(5))])
    await clock.advance(seconds(5))
    await store.promote(10)
    [again] = await claim(store)
    await store.cancel([job])
    await store.record("a", [trail(again, note("three"))])
    await settle(store, [succeeded(again)])
    assert await path_of(store, job) == [
        *("queued", "started", "custom:one", "custom:two", "retrying", "queued"),
        *("started", "cancelling", "custom:three", "succeeded"),
    ]
    events = await store.events(job)
    assert hold_together(events)
    assert (events[8].source, events[8].attempt, events[8].fence) == (State.CANCELLING, 2, again.lease.fence)


async def test_notes_stand_in_the_feed_between_the_steps(store: Store) -> None:
    """S1.44: who follows all jobs sees them too, in order, with what they say."""
    one, two = await owned_one(store), await owned_one(store)
    await store.record("a", [trail(two, note("two", "2")), trail(one, note("one", "1"), note("more"))])
    await settle(store, [succeeded(one)])
    entries = await fed(store, 8)
    for owned in (one, two):
        history = [entry.event for entry in entries if entry.event.job == owned.lease.job]
        assert history == await store.events(owned.lease.job)
    assert {entry.event.payload for entry in entries} == {None, "1", "2"}


async def test_recording_prolongs_nothing(store: Store, clock: Clock) -> None:
    """S0.61: who speaks and does not beat loses its job all the same."""
    owned = await owned_one(store)
    before = await found(store, owned.lease.job)
    await clock.advance(seconds(20))
    await store.record("a", [trail(owned, line(1), note())])
    there = await found(store, owned.lease.job)
    assert (there.lease_expires_at, there.heartbeat_at) == (before.lease_expires_at, before.heartbeat_at)
    await clock.advance(seconds(11))
    assert [moved.job for moved in await store.reap(10)] == [owned.lease.job]


async def test_late_is_late(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: a lease that has run out records nothing, before the reaper came and after."""
    owned = await owned_one(store)
    await clock.advance(seconds(30))
    await nothing_came_of(store, owned.lease)
    await store.reap(10)
    await nothing_came_of(store, owned.lease)
    await claim(store, worker="b")
    await nothing_came_of(store, owned.lease)


async def test_nobody_speaks_for_another_worker(store: Store) -> None:
    """S0.14: nor under a fence that the job is not owned under."""
    owned = await owned_one(store)
    await nothing_came_of(store, owned.lease, worker="b")
    await nothing_came_of(store, Lease(owned.lease.job, owned.lease.fence - 1))
    await nothing_came_of(store, Lease(owned.lease.job, owned.lease.fence + 1))


async def test_after_the_end_nothing_is_added(store: Store) -> None:
    """S0.15: what comes behind the settlement is lost."""
    owned = await owned_one(store)
    await settle(store, [succeeded(owned)])
    await nothing_came_of(store, owned.lease)


async def test_an_unknown_job_is_lost(store: Store, backend: Backend) -> None:
    lease = Lease(uuid4(), 1)
    answer = await store.record("a", [trail(lease, line(1), note())])
    assert answer.lost == {lease}
    assert await count(backend, "tenure.log") == await count(backend, "tenure.event") == 0


async def test_of_many_those_that_hold_are_recorded(store: Store) -> None:
    """S0.14: one lost lease takes nothing from its neighbours, even those of the same claim."""
    await store.enqueue([NewJob(definition="mail") for _ in range(20)])
    batch = await claim(store, limit=20)
    await settle(store, [succeeded(owned) for owned in batch[::4]])
    answer = await store.record(
        "a", [trail(owned, line(1, str(n)), note(f"n{n}")) for n, owned in enumerate(batch)][::-1]
    )
    assert answer.lost == {owned.lease for owned in batch[::4]}
    for n, owned in enumerate(batch):
        texts = [one.text for one in await lines_of(store, owned.lease.job)]
        assert texts == ([] if n % 4 == 0 else [str(n)])
        assert (f"custom:n{n}" in await path_of(store, owned.lease.job)) == (n % 4 != 0)


async def test_lines_may_be_sent_again(store: Store) -> None:
    """Who did not hear the answer repeats itself, and nothing is there twice or changed."""
    owned = await owned_one(store)
    await store.record("a", [trail(owned, line(1, "one"), line(2, "two"))])
    assert await store.record("a", [trail(owned, line(2, "other"), line(3, "three"))]) == ALL_WELL
    assert [one.text for one in await lines_of(store, owned.lease.job)] == ["one", "two", "three"]


async def test_several_trails_of_one_lease_are_one(store: Store) -> None:
    owned = await owned_one(store)
    trails = [trail(owned, line(2, "two"), note("x")), trail(owned, line(1, "one"), line(2, "!"), note("y"))]
    assert await store.record("a", trails) == ALL_WELL
    assert [one.text for one in await lines_of(store, owned.lease.job)] == ["one", "two"]
    assert (await path_of(store, owned.lease.job))[2:] == ["custom:x", "custom:y"]


async def test_each_attempt_counts_its_own_lines(store: Store) -> None:
    """A number belongs to one lease: the next attempt begins anew."""
    first = await owned_one(store)
    await store.record("a", [trail(first, line(1, "first"))])
    await store.hand_back("a", unstarted=[first.lease], killed=[])
    [second] = await claim(store)
    await store.record("a", [trail(second, line(1, "second"))])
    assert [(one.fence, one.line.text) for one in await store.logs(first.lease.job)] == [
        (first.lease.fence, "first"),
        (second.lease.fence, "second"),
    ]


async def test_what_no_store_takes_is_replaced(store: Store) -> None:
    """A handler's output keeps nothing from being recorded."""
    owned = await owned_one(store)
    await store.record("a", [trail(owned, line(1, "a\x00b\udcffc\ud800"), line(2, "\x1b[31m\r\n'\"\\{}"))])
    one, two = await lines_of(store, owned.lease.job)
    assert one.text == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"
    assert two.text == "\x1b[31m\r\n'\"\\{}"


async def test_a_long_line_is_kept_whole(store: Store) -> None:
    owned = await owned_one(store)
    text = "ž\U0001f600" * (LONGEST_LINE // 2)
    await store.record("a", [trail(owned, line(1, text))])
    assert [one.text for one in await lines_of(store, owned.lease.job)] == [text]


async def test_too_much_for_one_call_is_refused(store: Store, backend: Backend) -> None:
    owned = await owned_one(store)
    many = [line(n) for n in range(1, 10_002)]
    large = [line(n, "x" * LONGEST_LINE) for n in range(1, LARGEST_TRAIL // LONGEST_LINE + 2)]
    for parts in (many, large):
        with pytest.raises(InvalidInput, match="trails"):
            await store.record("a", [trail(owned, *parts)])
    with pytest.raises(InvalidInput, match="worker"):
        await store.record("", [trail(owned, line(1))])
    assert await count(backend, "tenure.log") == 0


async def test_a_call_may_bring_nothing(store: Store) -> None:
    """An attempt that has said nothing still hears whether its lease holds."""
    owned = await owned_one(store)
    before = await record_of(store, owned.lease.job)
    gone = Lease(uuid4(), 1)
    assert await store.record("a", []) == ALL_WELL
    assert await store.record("a", [Trail(owned.lease), Trail(gone)]) == Recorded(
        lost=frozenset({gone}), full=frozenset()
    )
    assert await record_of(store, owned.lease.job) == before


async def test_a_job_has_only_so_many_notes(store: Store) -> None:
    """Whatever a handler says without end, its steps are still recorded; neighbours are not concerned."""
    owned, neighbour = await owned_one(store), await owned_one(store)
    await store.record("a", [trail(owned, *[note()] * (MOST_NOTES - 2))])
    answer = await store.record(
        "a", [trail(owned, line(1), *(note(f"n{n}") for n in range(3))), trail(neighbour, note())]
    )
    assert answer == Recorded(lost=frozenset(), full=frozenset({owned.lease}))
    job = owned.lease.job
    assert (await path_of(store, job))[-2:] == ["custom:n0", "custom:n1"]
    assert (await store.record("a", [trail(owned, note("more"))])).full == {owned.lease}
    assert await store.record("a", [trail(owned, line(2))]) == ALL_WELL
    assert len(await lines_of(store, job)) == 2

    await settle(store, [succeeded(owned)])
    events = await store.events(job)
    assert len(events) == (await found(store, job)).events == MOST_NOTES + 3
    assert events[-1].type == "succeeded"
    assert hold_together(events)


async def test_two_that_record_at_once_lose_nothing(store: Store, other: Store) -> None:
    """S0.14: nor do they write over each other, or leave a gap. What is locked comes again, each alone."""

    async def record_all(through: Store, trails: list[Trail]) -> None:
        recorded = await through.record("a", trails)
        for one in trails:
            if one.lease in recorded.locked:
                assert not (await through.record("a", [one])).locked

    owned = [await owned_one(store) for _ in range(5)]
    await asyncio.gather(
        *(
            record_all(
                (store, other)[n % 2],
                [trail(one, line(n), note(f"n{n}")) for one in owned[:: 1 - 2 * (n % 2)]],
            )
            for n in range(1, 21)
        )
    )
    for one in owned:
        events = await store.events(one.lease.job)
        assert {event.type for event in events[2:]} == {f"custom:n{n}" for n in range(1, 21)}
        assert hold_together(events)
        assert [written.n for written in await lines_of(store, one.lease.job)] == list(range(1, 21))


async def test_recording_against_settling_adds_nothing_behind_the_end(store: Store, other: Store) -> None:
    """S0.15: a note stands before the end or nowhere."""
    owned = [await owned_one(store) for _ in range(10)]
    answer, _ = await asyncio.gather(
        other.record("a", [trail(one, note()) for one in owned]),
        settle(store, [succeeded(one) for one in owned]),
    )
    for one in owned:
        path = await path_of(store, one.lease.job)
        # What settles may have the job locked: then nothing is recorded, and the answer says so.
        notes = [] if one.lease in answer.lost | answer.locked else ["custom:sent"]
        assert path == ["queued", "started", *notes, "succeeded"]


async def test_a_line_keeps_its_own_time(store: Store, clock: Clock) -> None:
    """The time of a line is the writer's; that of a note, like that of any event, the store's."""
    owned = await owned_one(store)
    await clock.advance(seconds(7))
    await store.record("a", [trail(owned, line(5))])
    [one] = await lines_of(store, owned.lease.job)
    assert one.at == START + seconds(0.005)
