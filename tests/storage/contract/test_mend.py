"""`mend_place`, `mend_timer`, `mend_lease`, `mend_slots`: what was changed by hand goes on as ever."""

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import DataRefused
from tenure.core.model.job import JobStanding
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.damaged_rows import MAILBOX, next_event, take_all_places
from tests.storage.races.record_check import faults
from tests.storage.verbs import (
    claim,
    enqueue_one,
    found,
    hold_together,
    job_in,
    one_in_each_state,
    path_of,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)

Mend = Callable[[Store, UUID], Awaitable[JobStanding | None]]
PLACE: Mend = lambda store, job: store.mend_place(job)  # noqa: E731
TIMER: Mend = lambda store, job: store.mend_timer(job)  # noqa: E731
LEASE: Mend = lambda store, job: store.mend_lease(job)  # noqa: E731
MENDS = {"place": PLACE, "timer": TIMER, "lease": LEASE}


async def is_well(store: Store, backend: Backend) -> bool:
    """Whether neither the store nor a reading of all its tables finds anything."""
    findings = (await store.inspect_jobs()).findings
    return not findings and await store.loose_slots() == [] and await faults(backend) == []


async def test_a_job_gets_its_place_in_line_back_and_is_claimed_in_its_turn(
    store: Store, other: Store, backend: Backend
) -> None:
    first, second = await enqueue_one(store), await enqueue_one(store)
    before = await store.events(first)
    await backend.sql(f"DELETE FROM tenure.ready WHERE job = '{first}'")
    assert [one.lease.job for one in await claim(store)] == [second]
    assert await other.mend_place(first) == JobStanding(first, State.QUEUED, moved=True)
    assert await is_well(store, backend)
    assert await store.events(first) == before
    assert [one.lease.job for one in await claim(store)] == [first]


@pytest.mark.parametrize("state", [State.SCHEDULED, State.RETRYING, State.SUSPENDED])
async def test_a_job_gets_its_timer_back_and_waits_as_long_as_before(
    store: Store, backend: Backend, clock: Clock, state: State
) -> None:
    job = await job_in(store, state)
    due = (await found(store, job)).due_at
    assert due is not None
    before = await backend.sql("SELECT due_at, job, kind FROM tenure.timer")
    await backend.sql("DELETE FROM tenure.timer")
    assert await store.mend_timer(job) == JobStanding(job, state, moved=True)
    assert await backend.sql("SELECT due_at, job, kind FROM tenure.timer") == before
    await clock.advance(due - clock.now - seconds(1))
    assert await store.promote(10) == []
    await clock.advance(seconds(1))
    assert [step.job for step in await store.promote(10)] == [job]
    assert await is_well(store, backend)


@pytest.mark.parametrize("state", [State.SCHEDULED, State.RETRYING])
async def test_a_job_that_has_lost_its_time_too_is_not_due_before_what_was_asked(
    store: Store, backend: Backend, clock: Clock, state: State
) -> None:
    job = await job_in(store, state)
    asked = (await found(store, job)).due_at
    await backend.sql("DELETE FROM tenure.timer")
    await backend.sql("UPDATE tenure.job_state SET due_at = NULL")
    standing = await store.mend_timer(job)
    assert standing is not None
    assert standing.moved
    assert (await found(store, job)).due_at == (asked if state is State.SCHEDULED else clock.now)
    assert await is_well(store, backend)


@pytest.mark.parametrize(
    ("policy", "cancelled", "target", "event"),
    [
        (Policy(), False, State.QUEUED, "orphaned"),
        (Policy(max_attempts=1), False, State.FAILED, "failed"),
        (Policy(on_lost=OnLost.BURY), False, State.BURIED, "buried"),
        (Policy(), True, State.CANCELLED, "cancelled"),
    ],
)
async def test_a_job_without_a_lease_is_taken_from_its_owner_as_a_reaper_would(
    store: Store, backend: Backend, policy: Policy, cancelled: bool, target: State, event: str
) -> None:
    """The step names the doctor, the attempt is lost and names its worker, and its place is free again."""
    job = await enqueue_one(store, policy=policy, limits=(MAILBOX,))
    [owned] = await claim(store, "kim")
    if cancelled:
        await store.cancel([job])
    await backend.sql("DELETE FROM tenure.lease")
    assert await store.mend_lease(job) == JobStanding(job, target, moved=True)
    last = (await store.events(job))[-1]
    assert (last.type, last.actor, last.reason) == (event, "doctor", "its lease is gone")
    [attempt] = await store.attempts(job)
    assert (attempt.worker, attempt.ending, attempt.fence) == ("kim", "lost", owned.lease.fence)
    assert hold_together(await store.events(job))
    assert await backend.sql("SELECT * FROM tenure.lease") == []
    assert await is_well(store, backend)
    assert list((await settle(store, [succeeded(owned)], "kim")).lost) == [owned.lease]


async def test_other_jobs_of_the_lost_owner_stay_as_they_are(store: Store, backend: Backend) -> None:
    lost = await enqueue_one(store)
    await claim(store)
    await backend.sql("DELETE FROM tenure.lease")
    kept = await enqueue_one(store)
    [owned] = await claim(store)
    assert (await store.mend_lease(lost)) == JobStanding(lost, State.QUEUED, moved=True)
    assert await state_of(store, kept) is State.RUNNING
    assert list((await settle(store, [succeeded(owned)])).accepted) == [owned.lease]


@pytest.mark.parametrize("mend", MENDS.values(), ids=MENDS)
async def test_what_is_well_is_left_alone(store: Store, backend: Backend, mend: Mend) -> None:
    jobs = await one_in_each_state(store)
    before = await backend.sql("SELECT * FROM tenure.job_state ORDER BY id")
    for state, job in jobs.items():
        assert await mend(store, job) == JobStanding(job, state, moved=False)
    assert await mend(store, uuid4()) is None
    assert await backend.sql("SELECT * FROM tenure.job_state ORDER BY id") == before
    assert await is_well(store, backend)


@pytest.mark.parametrize("mend", MENDS.values(), ids=MENDS)
async def test_a_second_mend_finds_nothing_to_do(
    store: Store, other: Store, backend: Backend, mend: Mend
) -> None:
    jobs = [await job_in(store, state) for state in (State.QUEUED, State.RETRYING, State.RUNNING)]
    for table in ("ready", "timer", "lease"):
        await backend.sql(f"DELETE FROM tenure.{table}")
    first = [await mend(store, job) for job in jobs]
    second = [await mend(other, job) for job in jobs]
    assert [one is not None and one.moved for one in first].count(True) == 1
    assert [one is not None and one.moved for one in second].count(True) == 0


@pytest.mark.parametrize("kind", MENDS)
async def test_a_job_that_is_aside_is_left_to_putting_back(store: Store, backend: Backend, kind: str) -> None:
    """It is out of its line, timer or lease on purpose."""
    state = {"place": State.QUEUED, "timer": State.RETRYING, "lease": State.RUNNING}[kind]
    job = await job_in(store, state)
    table = {"place": "ready", "timer": "timer", "lease": "lease"}[kind]
    await backend.sql(f"DELETE FROM tenure.{table}")
    at = (await backend.sql("SELECT updated_at FROM tenure.job_state"))[0][0]
    shown = at if backend.kind == "sqlite" else f"'{at}'"
    await backend.sql(
        "INSERT INTO tenure.aside (job, fence, at, verb, by, text)"
        f" VALUES ('{job}', 1, {shown}, 'claim', 'a', 'refused')"
    )
    assert await MENDS[kind](store, job) == JobStanding(job, state, moved=False)
    assert await backend.sql(f"SELECT * FROM tenure.{table}") == []


async def test_a_place_in_line_that_is_another_jobs_is_refused(store: Store, backend: Backend) -> None:
    job, thief = await enqueue_one(store), await enqueue_one(store)
    await backend.sql(f"DELETE FROM tenure.ready WHERE job = '{thief}'")
    await backend.sql(f"UPDATE tenure.ready SET job = '{thief}' WHERE job = '{job}'")
    with pytest.raises(DataRefused):
        await store.mend_place(job)
    assert await state_of(store, job) is State.QUEUED


async def test_a_step_that_the_database_refuses_leaves_the_job_as_it_is(
    store: Store, backend: Backend
) -> None:
    """Neither the lent lease nor a place under a limit is left behind."""
    job = await enqueue_one(store, limits=(MAILBOX,))
    await claim(store)
    await backend.sql("DELETE FROM tenure.lease")
    await next_event(backend.address, job)
    with pytest.raises(DataRefused):
        await store.mend_lease(job)
    assert await state_of(store, job) is State.RUNNING
    assert await backend.sql("SELECT * FROM tenure.lease") == []


async def test_places_that_no_job_holds_are_freed_and_no_other(store: Store, backend: Backend) -> None:
    job = await enqueue_one(store, limits=(MAILBOX,))
    [held] = await claim(store)
    waiting = await enqueue_one(store, limits=(MAILBOX,))
    await take_all_places(backend)
    assert await claim(store) == []
    assert await store.mend_slots("mailbox", "ann") == (1, 0)
    assert await store.mend_slots("mailbox", "ann") == (0, 0)
    assert await is_well(store, backend)
    third = await enqueue_one(store, limits=(MAILBOX,))
    [next_one] = await claim(store)
    assert next_one.lease.job == waiting
    assert len((await settle(store, [succeeded(held), recoverable(next_one)])).accepted) == 2
    assert [one.lease.job for one in await claim(store)] == [third]
    assert (await path_of(store, job))[-1] == "succeeded"
    assert await faults(backend) == []


async def test_no_place_is_freed_while_a_job_is_owned_without_a_lease(store: Store, backend: Backend) -> None:
    """Its place would be given to another, and freed a second time when it is taken from its owner."""
    job = await enqueue_one(store, limits=(MAILBOX,))
    await claim(store)
    await backend.sql("DELETE FROM tenure.lease")
    await take_all_places(backend)
    assert await store.mend_slots("mailbox", "ann") == (0, 1)
    await store.mend_lease(job)
    assert await store.mend_slots("mailbox", "ann") == (1, 0)
    assert await is_well(store, backend)


async def test_a_limit_that_is_unknown_has_no_places_to_free(store: Store) -> None:
    assert await store.mend_slots("unknown", "") == (0, 0)
