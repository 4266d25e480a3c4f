"""Annotating: what is found out when an attempt is over is added to its job, which stays as it is."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from msgspec.structs import replace

from tenure.core.model.lease import Claimed, Lease, Line
from tenure.core.model.states import State
from tenure.core.model.trail import HOOK_FAILED, LogLine, Note
from tenure.core.reports.retention import Retention
from tenure.core.values.bounds import MOST_NOTES
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    columns_of,
    enqueue_one,
    fed,
    found,
    hold_together,
    is_note,
    job_in,
    note,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    succeeded,
    suspended,
    trail,
    unrecoverable,
)

CLAIMED = [
    state for state in State if state not in {State.CREATED, State.SCHEDULED, State.QUEUED, State.CANCELLED}
]
OVER = [State.SUCCEEDED, State.FAILED, State.BURIED]


async def owned_one(store: Store, worker: str = "a") -> Claimed:
    await enqueue_one(store)
    [owned] = await claim(store, worker=worker, lease_for=seconds(30))
    return owned


async def last_claim(store: Store, state: State) -> Lease:
    """The lease under which a job came into a state."""
    job = await job_in(store, state)
    return Lease(job, (await found(store, job)).fence)


async def row_of(backend: Backend, lease: Lease) -> list[tuple[object, ...]]:
    columns = ", ".join(await columns_of(backend, "tenure.job_state"))
    return await backend.sql(f"SELECT {columns} FROM tenure.job_state WHERE id = '{lease.job}'")


@pytest.mark.parametrize("state", CLAIMED)
async def test_a_note_is_added_whatever_became_of_the_job(store: Store, clock: Clock, state: State) -> None:
    """S1.44: as the next event, by the worker of that attempt, at the store's time."""
    lease = await last_claim(store, state)
    before, events, attempts = await record_of(store, lease.job)
    now = await clock.advance(seconds(3))
    assert await store.annotate(lease, Note(HOOK_FAILED, None))
    assert await store.annotate(lease, note("late", '{"why":"slow"}'))

    after, history, same = await record_of(store, lease.job)
    one, two = history[len(events) :]
    assert history[: len(events)] == events
    assert same == attempts
    assert ([one.type, one.payload], [two.type, two.payload]) == (
        ["hook_failed", None],
        ["custom:late", '{"why":"slow"}'],
    )
    assert (one.n, two.n) == (len(events) + 1, len(events) + 2)
    assert {(each.source, each.target, each.attempt, each.fence) for each in (one, two)} == {
        (state, state, 1, lease.fence)
    }
    assert {(each.at, each.actor) for each in (one, two)} == {(now, "a")}
    assert hold_together(history)
    assert after.events == len(history)
    assert replace(after, events=before.events, updated_at=before.updated_at) == before


@pytest.mark.parametrize("state", OVER)
async def test_a_finished_job_stays_as_it_is(
    store: Store, backend: Backend, clock: Clock, state: State
) -> None:
    """S0.15, S0.17: in every column of its row; only its history grows."""
    lease = await last_claim(store, state)
    before = await row_of(backend, lease)
    await clock.advance(seconds(3))
    for _ in range(3):
        assert await store.annotate(lease, note())
    assert await row_of(backend, lease) == before
    assert len([event for event in await store.events(lease.job) if is_note(event)]) == 3


async def test_what_comes_behind_the_end_stands_in_the_feed(store: Store) -> None:
    """S1.44: who had read it all reads on, in order, and sees it once."""
    first, second = await last_claim(store, State.SUCCEEDED), await last_claim(store, State.FAILED)
    read = await fed(store, 6)
    for lease in (second, first, second):
        await store.annotate(lease, note(payload=f'"{lease.fence}"'))
    more = await fed(store, 3, after=read[-1].position)
    assert [(entry.event.job, entry.event.n, entry.event.payload) for entry in more] == [
        (second.job, 4, f'"{second.fence}"'),
        (first.job, 4, f'"{first.fence}"'),
        (second.job, 5, f'"{second.fence}"'),
    ]
    assert [entry.event for entry in more[::2]] == (await store.events(second.job))[3:]
    assert {entry.line for entry in more} == {Line("default", "succeeded"), Line("default", "failed")}


async def test_what_comes_behind_the_end_is_seen_with_a_database_shell(
    store: Store, backend: Backend
) -> None:
    lease = await last_claim(store, State.SUCCEEDED)
    await store.annotate(lease, note("late"))
    rows = await backend.sql("SELECT event_type FROM tenure.job_events ORDER BY id")
    assert [row[0] for row in rows] == ["queued", "started", "succeeded", "custom:late"]


async def test_a_job_goes_on_behind_a_note(store: Store, clock: Clock) -> None:
    """S1.44: steps and notes are counted together, whoever writes them."""
    owned = await owned_one(store)
    job = owned.lease.job
    await store.annotate(owned.lease, note("running"))
    await settle(store, [recoverable(owned, after=seconds(5))])
    await store.annotate(owned.lease, note("retrying"))
    await clock.advance(seconds(5))
    await store.promote(10)
    await store.annotate(owned.lease, note("queued"))
    [again] = await claim(store)
    await store.record("a", [trail(again, note("again"))])
    await settle(store, [unrecoverable(again)])
    await store.annotate(again.lease, note("over"))
    path = [event.removeprefix("custom:") for event in await path_of(store, job)]
    assert path == [
        *("queued", "started", "running", "retrying", "retrying", "queued", "queued", "started"),
        *("again", "failed", "over"),
    ]
    assert hold_together(await store.events(job))


async def test_a_lease_that_has_run_out_may_still_say_what_went_wrong(store: Store, clock: Clock) -> None:
    """It moves nothing and prolongs nothing, so it need not hold."""
    owned = await owned_one(store)
    await clock.advance(seconds(31))
    assert await store.annotate(owned.lease, Note(HOOK_FAILED))
    assert [moved.target for moved in await store.reap(10)] == [State.QUEUED]
    assert await store.annotate(owned.lease, Note(HOOK_FAILED))
    assert await path_of(store, owned.lease.job) == [
        *("queued", "started", "hook_failed", "orphaned", "hook_failed")
    ]


async def test_the_attempt_keeps_its_number(store: Store) -> None:
    """Also where its end has given the number back."""
    owned = await owned_one(store, "ann")
    await settle(store, [suspended(owned)], worker="ann")
    await store.annotate(owned.lease, note())
    last = (await store.events(owned.lease.job))[-1]
    assert (last.attempt, last.fence, last.actor) == (1, owned.lease.fence, "ann")


async def test_only_the_last_claim_speaks(store: Store) -> None:
    """S0.14: who was followed by another is not heard, nor is one that never was."""
    owned = await owned_one(store)
    job = owned.lease.job
    never = await enqueue_one(store, hold=True)
    await store.hand_back("a", unstarted=[owned.lease], killed=[])
    [again] = await claim(store, worker="b")
    await settle(store, [succeeded(again)], worker="b")
    before = await record_of(store, job), await record_of(store, never)
    for lease in (owned.lease, Lease(job, again.lease.fence + 1), Lease(uuid4(), again.lease.fence)):
        assert not await store.annotate(lease, note())
    for fence in (0, 1):
        assert not await store.annotate(Lease(never, fence), note())
    assert (await record_of(store, job), await record_of(store, never)) == before


async def test_a_pruned_job_has_no_notes(store: Store, clock: Clock) -> None:
    """Those behind its end go with it, and none is added afterwards."""
    lease = await last_claim(store, State.SUCCEEDED)
    await store.annotate(lease, note())
    await clock.advance(seconds(1))
    none = seconds(0)
    assert (await store.prune(Retention(succeeded=none, others=none, keyed=none))).jobs == 1
    assert not await store.annotate(lease, note())
    assert await store.events(lease.job) == []
    assert await fed(store, 0) == []


async def test_notes_behind_the_end_count_with_the_others(store: Store) -> None:
    """All in all a job has only so many."""
    owned = await owned_one(store)
    await store.record("a", [trail(owned, *[note()] * (MOST_NOTES - 3))])
    assert await store.annotate(owned.lease, note("one"))
    await settle(store, [succeeded(owned)])
    added = [await store.annotate(owned.lease, note(word)) for word in ("two", "three", "four", "five")]
    assert added == [True, True, False, False]
    path = await path_of(store, owned.lease.job)
    assert path[-4:] == ["custom:one", "succeeded", "custom:two", "custom:three"]
    assert len(path) == MOST_NOTES + 3


@pytest.mark.parametrize("state", [State.RUNNING, State.SUCCEEDED])
async def test_two_at_once_do_not_write_over_each_other(store: Store, other: Store, state: State) -> None:
    """S1.44: each note has a number of its own, and no number is left out."""
    lease = await last_claim(store, state)
    steps = len(await store.events(lease.job))
    added = await asyncio.gather(*((store, other)[n % 2].annotate(lease, note(f"n{n}")) for n in range(20)))
    assert added == [True] * 20
    events = await store.events(lease.job)
    assert {event.type for event in events[steps:]} == {f"custom:n{n}" for n in range(20)}
    assert hold_together(events)
    assert [entry.event for entry in await fed(store, len(events))] == events


async def test_annotating_against_settling_leaves_a_whole_history(store: Store, other: Store) -> None:
    """S1.44: before the end or behind it, the note is there."""
    owned = [await owned_one(store) for _ in range(10)]
    *added, _ = await asyncio.gather(
        *(other.annotate(one.lease, note()) for one in owned),
        settle(store, [succeeded(one) for one in owned]),
    )
    assert all(added)
    for one in owned:
        events = await store.events(one.lease.job)
        assert hold_together(events)
        assert sorted(event.type for event in events) == ["custom:sent", "queued", "started", "succeeded"]


def log_lines(*texts: str) -> list[LogLine]:
    return [LogLine(1, datetime(2026, 1, 1, tzinfo=UTC), "info", text, Document("{}")) for text in texts]


async def test_lines_are_added_behind_those_of_the_attempt(store: Store) -> None:
    """S1.62: however it ended, and also when the job was claimed again: each lease has numbers of its own."""
    owned = await owned_one(store)
    job = owned.lease.job
    await store.record("a", [trail(owned, *log_lines("first"))])
    await store.hand_back("a", unstarted=[], killed=[owned.lease])
    assert await store.add_lines(owned.lease, log_lines("second", "third"))
    [again] = await claim(store, worker="b")
    await settle(store, [succeeded(again)], worker="b")
    before = await record_of(store, job)
    assert await store.add_lines(again.lease, log_lines("of the next"))
    assert await store.add_lines(owned.lease, log_lines("fourth\x00"))
    assert await record_of(store, job) == before
    assert [(fence, line.n, line.text) for fence, line in await store.logs(job)] == [
        *((owned.lease.fence, n, text) for n, text in enumerate(("first", "second", "third"), 1)),
        (owned.lease.fence, 4, "fourth\N{REPLACEMENT CHARACTER}"),
        (again.lease.fence, 1, "of the next"),
    ]


async def test_lines_of_what_never_was_are_not_added(store: Store) -> None:
    """S0.14: of a job that is unknown, of a lease that is yet to come, and of none while it waits."""
    owned = await owned_one(store)
    waiting = await enqueue_one(store, hold=True)
    for lease in (
        Lease(uuid4(), owned.lease.fence),
        Lease(owned.lease.job, owned.lease.fence + 1),
        Lease(waiting, 0),
    ):
        assert not await store.add_lines(lease, log_lines("nothing"))
    await store.cancel([waiting])
    assert await store.add_lines(Lease(waiting, 0), log_lines("it is over"))
    assert [line.text for _, line in await store.logs(waiting)] == ["it is over"]
