"""Jobs that were moved in a database shell, by steps that the guards allow: they do not block others."""

from uuid import UUID

import pytest

from tenure.core.model.job import JobStanding
from tenure.core.model.lease import Claimed, Line, Order
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    enqueue_one,
    job_in,
    one_in_each_state,
    seconds,
    settle,
    state_of,
    succeeded,
)

WAITING = [State.SCHEDULED, State.RETRYING, State.SUSPENDED]
"""The states in which a job waits for the clock."""


async def move(backend: Backend, job: UUID, target: State) -> None:
    """A legal step with nothing but the state row: what stands elsewhere of the job is not seen to."""
    await backend.sql(
        f"UPDATE tenure.job_state SET state = '{target}', n = n + 1, lease = NULL WHERE id = '{job}'"
    )


async def rows_of(backend: Backend, table: str, job: UUID) -> int:
    """In how many rows of a table a job is named."""
    return len(await backend.sql(f"SELECT 1 FROM tenure.{table} WHERE job = '{job}'"))


async def found_by_inspection(store: Store) -> dict[UUID, str]:
    """Whom `inspect` names, and why."""
    return {finding.job: finding.kind for finding in await store.inspect()}


async def claimed_in(store: Store, turns: int, limit: int) -> list[Claimed]:
    """What some claims in a row bring: one that meets stale entries may come back short."""
    return [one for _ in range(turns) for one in await claim(store, limit=limit)]


async def test_a_queued_job_that_was_cancelled_by_hand_does_not_stop_its_line(
    store: Store, backend: Backend
) -> None:
    """S0.11, S0.13: a claim expects `queued`, and whoever is not is passed over."""
    moved, next_one = await enqueue_one(store), await enqueue_one(store)
    await move(backend, moved, State.CANCELLED)

    assert [one.lease.job for one in await claim(store)] == [next_one]
    assert await state_of(store, moved) is State.CANCELLED
    assert await rows_of(backend, "ready", moved) == 0


async def test_a_turn_that_settles_passes_over_who_was_cancelled_by_hand(
    store: Store, backend: Backend
) -> None:
    """S0.11: what ended beside it is on record all the same."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    [first] = await claim(store, limit=1)
    await move(backend, jobs[1], State.CANCELLED)

    order = Order(worker="a", lines=(MAIL,), limit=10, lease_for=seconds(30))
    turn = await store.settle_and_claim([succeeded(first)], order)
    assert turn.settled.accepted == {first.lease: State.SUCCEEDED}
    assert [one.lease.job for one in turn.claimed] == [jobs[2]]


async def test_stale_entries_between_others_are_passed_over_and_go(store: Store, backend: Backend) -> None:
    """S0.11: wherever in the line they stand, and if nobody else stands there."""
    jobs = [await enqueue_one(store) for _ in range(6)]
    alone = await enqueue_one(store, priority=5)
    for moved in (alone, jobs[0], jobs[1], jobs[3]):
        await move(backend, moved, State.CANCELLED)

    claimed = await claimed_in(store, turns=5, limit=2)
    assert [one.lease.job for one in claimed] == [jobs[2], jobs[4], jobs[5]]
    assert await backend.sql("SELECT * FROM tenure.ready") == []
    assert (await settle(store, map(succeeded, claimed))).lost == []


async def test_who_was_cancelled_by_hand_takes_no_room_under_a_limit(store: Store, backend: Backend) -> None:
    """S0.11: else the limit would be used up by a job that never ends."""
    limits = (Limit("gpu", "", 1),)
    jobs = [await enqueue_one(store, limits=limits) for _ in range(3)]
    await move(backend, jobs[0], State.CANCELLED)

    [first] = await claimed_in(store, turns=3, limit=10)
    await settle(store, [succeeded(first)])
    [second] = await claimed_in(store, turns=3, limit=10)
    assert [first.lease.job, second.lease.job] == jobs[1:]


@pytest.mark.parametrize("source", WAITING)
async def test_a_job_that_was_cancelled_by_hand_does_not_stop_the_clock(
    store: Store, clock: Clock, backend: Backend, source: State
) -> None:
    """S0.11: every other delayed job becomes due as it should; the timer that nobody waits for goes."""
    moved = await job_in(store, source)
    later = await enqueue_one(store, delay=seconds(90))
    await move(backend, moved, State.CANCELLED)
    await clock.advance(seconds(100))

    assert [step.job for step in await store.promote(10)] == [later]
    assert await state_of(store, moved) is State.CANCELLED
    assert await rows_of(backend, "timer", moved) == 0
    assert [one.lease.job for one in await claim(store)] == [later]


@pytest.mark.parametrize("source", WAITING)
async def test_a_job_that_was_queued_by_hand_does_not_run_by_itself(
    store: Store, clock: Clock, backend: Backend, source: State
) -> None:
    """S0.11: nobody gave it a place in line, and none is made up for it; an inspection names it."""
    moved = await job_in(store, source)
    await move(backend, moved, State.QUEUED)
    await clock.advance(seconds(100))

    assert await store.promote(10) == []
    assert await claim(store, lines=[Line("default", source.value)]) == []
    assert await state_of(store, moved) is State.QUEUED
    assert await rows_of(backend, "timer", moved) == 0
    assert await found_by_inspection(store) == {moved: "no_place"}


async def test_a_held_job_that_was_let_go_by_hand_is_named(store: Store, backend: Backend) -> None:
    """S0.11: neither in line nor with a timer that will ever be due."""
    queued, scheduled = await job_in(store, State.CREATED), await job_in(store, State.CREATED)
    await move(backend, queued, State.QUEUED)
    await move(backend, scheduled, State.SCHEDULED)
    assert await found_by_inspection(store) == {queued: "no_place", scheduled: "no_timer"}


async def test_a_running_job_whose_lease_was_deleted_is_named(store: Store, backend: Backend) -> None:
    """S0.14: nobody would ever reap it."""
    job = await job_in(store, State.RUNNING)
    await backend.sql("DELETE FROM tenure.lease")
    assert await found_by_inspection(store) == {job: "no_lease"}


@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING])
async def test_a_job_whose_lease_was_deleted_goes_on_though_its_worker_is_dead(
    store: Store, backend: Backend, state: State
) -> None:
    """S0.14: put back, it is taken from its owner, and its room is free again."""
    lines = [Line("default", state.value)]
    job = await job_in(store, state, limits=(Limit("narrow", "", 1),))
    other = await enqueue_one(store, state.value, limits=(Limit("narrow", "", 1),))
    await backend.sql("DELETE FROM tenure.lease")
    [finding] = await store.inspect()
    assert finding.cure == "`tenure doctor --mend` takes it from its lost owner"
    assert await claim(store, lines=lines) == []

    moved = [standing.moved for _ in range(2) if (standing := await store.put_back(job))]

    assert moved == [True, False]
    after = {State.RUNNING: State.QUEUED, State.CANCELLING: State.CANCELLED}[state]
    assert await state_of(store, job) is after
    assert [one.lease.job for one in await claim(store, lines=lines)] == [other]
    assert await store.inspect() == []


async def test_nothing_is_said_of_jobs_that_verbs_have_moved(store: Store, clock: Clock) -> None:
    """S0.11: an inspection names nobody who goes on by itself, or has ended."""
    await one_in_each_state(store)
    assert await store.inspect() == []
    await clock.advance(seconds(100))
    await store.promote(10)
    await store.reap(10)
    assert await store.inspect() == []


async def test_an_inspection_says_the_way_out_and_it_leads_out(store: Store, backend: Backend) -> None:
    """S0.11: what was moved by hand is put back in line, and runs."""
    moved = await enqueue_one(store, delay=seconds(60))
    await move(backend, moved, State.QUEUED)
    [finding] = await store.inspect()
    assert "`tenure doctor --mend` puts it back in line" in str(finding)

    assert await store.mend_place(moved) == JobStanding(moved, State.QUEUED, moved=True)
    [claimed] = await claim(store)
    assert (claimed.lease.job, claimed.queued_at) == (moved, await store.now())
    assert await store.inspect() == []


async def test_an_inspection_names_so_many_and_no_more(store: Store, backend: Backend) -> None:
    for _ in range(3):
        await move(backend, await job_in(store, State.SCHEDULED), State.QUEUED)
    assert len(await store.inspect(limit=2)) == 2
