"""Meetings with mending: it is held before its commit, or comes while another call holds the job.

It waits for the job, looks again, and leaves alone what the other call has moved meanwhile.
"""

from uuid import UUID

import pytest

from tenure.core.model.job import JobStanding
from tenure.core.model.lease import Claimed
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.races.record_check import faults
from tests.storage.races.requests import (
    StoreCall,
    cancels,
    claims,
    mends,
    mends_slots,
    promotes,
    prunes,
    reaps,
    settles,
    strands,
)
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import claim, count, enqueue_one, recoverable, seconds, settle, state_of, succeeded

TABLES = {"place": "ready", "timer": "timer", "lease": "lease"}
STATES = {"place": State.QUEUED, "timer": State.RETRYING, "lease": State.RUNNING}
BOX = Limit("box", size=2)


async def job_for(store: Store, what: str) -> tuple[UUID, Claimed | None]:
    """A job in a state in which it needs a place, a timer of ten seconds or a lease of half a minute."""
    job = await enqueue_one(store)
    if what == "place":
        return job, None
    [owned] = await claim(store, limit=1, lease_for=seconds(30))
    if what == "timer":
        await settle(store, [recoverable(owned, seconds(10))])
    return job, owned


async def broken(store: Store, backend: Backend, what: str) -> tuple[UUID, Claimed | None]:
    """The same, with that row removed by hand."""
    made = await job_for(store, what)
    await backend.sql(f"DELETE FROM tenure.{TABLES[what]}")
    return made


async def test_a_claim_passes_over_a_place_that_is_being_mended(store: Store, stage: Stage) -> None:
    job, _ = await broken(store, stage.backend, "place")
    mended, early = await stage.meet(mends("place", job), claims("b"), passes=True)
    assert mended.moved
    claimed = list(early.claimed) or await claim(store, "c")
    assert [one.lease.job for one in claimed] == [job]
    assert await faults(stage.backend) == []


async def test_a_promotion_passes_over_a_timer_that_is_being_mended(
    store: Store, stage: Stage, clock: Clock
) -> None:
    job, _ = await broken(store, stage.backend, "timer")
    await clock.advance(seconds(10))
    mended, early = await stage.meet(mends("timer", job), promotes(), passes=True)
    assert mended.moved
    assert [one.job for one in [*early, *await store.promote(10)]] == [job]
    assert await faults(stage.backend) == []


async def test_the_lost_owner_settles_nothing_while_its_job_is_taken(store: Store, stage: Stage) -> None:
    job, owned = await broken(store, stage.backend, "lease")
    assert owned is not None
    mended, settled = await stage.meet(mends("lease", job), settles("a", [succeeded(owned)]), passes=True)
    assert mended == JobStanding(job, State.QUEUED, moved=True)
    assert list(settled.settled.lost) == [owned.lease]
    assert await faults(stage.backend) == []


@pytest.mark.parametrize("what", TABLES)
async def test_the_second_of_two_mends_finds_it_done(store: Store, stage: Stage, what: str) -> None:
    job, _ = await broken(store, stage.backend, what)
    first, second = await stage.meet(mends(what, job), mends(what, job))
    assert (first.moved, second.moved) == (True, False)
    assert await faults(stage.backend) == []
    if what != "lease":
        assert await count(stage.backend, f"tenure.{TABLES[what]}") == 1


@pytest.mark.parametrize("what", ["place", "timer"])
async def test_what_is_cancelled_behind_a_mend_is_never_run(
    store: Store, stage: Stage, clock: Clock, what: str
) -> None:
    """The row that it has got back may stay behind; a claim or a promotion drops it."""
    job, _ = await broken(store, stage.backend, what)
    mended, [standing] = await stage.meet(mends(what, job), cancels([job]))
    assert (mended.moved, standing.state) == (True, State.CANCELLED)
    await clock.advance(seconds(10))
    assert await store.promote(10) == []
    assert await claim(store) == []
    assert await faults(stage.backend) == []


@pytest.mark.parametrize("what", ["place", "timer"])
async def test_what_is_cancelled_before_a_mend_is_left_alone(store: Store, stage: Stage, what: str) -> None:
    job, _ = await broken(store, stage.backend, what)
    _, left = await stage.meet(cancels([job]), mends(what, job))
    assert left == JobStanding(job, State.CANCELLED, moved=False)
    assert await count(stage.backend, f"tenure.{TABLES[what]}") == 0
    assert await faults(stage.backend) == []


async def test_a_job_that_is_asked_to_stop_first_is_cancelled_by_the_mend(store: Store, stage: Stage) -> None:
    job, _ = await broken(store, stage.backend, "lease")
    [asked], mended = await stage.meet(cancels([job]), mends("lease", job))
    assert asked.state is State.CANCELLING
    assert mended == JobStanding(job, State.CANCELLED, moved=True)
    assert await faults(stage.backend) == []


@pytest.mark.parametrize(
    ("what", "mover"), [("place", "claim"), ("timer", "promote"), ("lease", "reap"), ("lease", "settle")]
)
async def test_a_job_that_an_ordinary_verb_moves_first_is_left_alone(
    store: Store, stage: Stage, clock: Clock, what: str, mover: str
) -> None:
    """It was broken when the doctor looked, and has healed: nothing is missing when the lock is had."""
    job, owned = await job_for(store, what)
    later = {"place": 0, "timer": 10, "lease": 30 if mover == "reap" else 0}[what]
    await clock.advance(seconds(later))
    calls: dict[str, StoreCall] = {"claim": claims("b"), "promote": promotes(), "reap": reaps()}
    call = calls.get(mover) or settles("a", [succeeded(owned)] if owned else [])
    _, left = await stage.meet(call, mends(what, job))
    target = {"claim": State.RUNNING, "settle": State.SUCCEEDED}.get(mover, State.QUEUED)
    assert left == JobStanding(job, target, moved=False)
    assert await faults(stage.backend) == []


async def test_a_job_that_its_worker_puts_aside_first_is_left_alone(store: Store, stage: Stage) -> None:
    job, owned = await broken(store, stage.backend, "lease")
    assert owned is not None
    [put], left = await stage.meet(strands("a", [owned.lease]), mends("lease", job))
    assert (put.job, left.state, left.moved) == (job, State.RUNNING, False)


@pytest.mark.parametrize("what", TABLES)
async def test_a_job_that_is_pruned_first_is_gone(store: Store, stage: Stage, what: str) -> None:
    job = await enqueue_one(store)
    await store.cancel([job])
    pruned, left = await stage.meet(prunes(), mends(what, job))
    assert (pruned.jobs, left) == (1, None)
    assert await faults(stage.backend) == []


async def one_loose_place(store: Store, backend: Backend) -> Claimed:
    """One of two places is held by a job, the other by nothing; a second job waits."""
    for _ in range(2):
        await enqueue_one(store, limits=(BOX,))
    [owned] = await claim(store, limit=1)
    await backend.sql(
        "UPDATE tenure.limited SET held = 2"
        if backend.kind == "sqlite"
        else "UPDATE tenure.slot SET is_held = true"
    )
    return owned


async def test_a_claim_does_not_wait_for_places_that_are_being_freed(store: Store, stage: Stage) -> None:
    await one_loose_place(store, stage.backend)
    mended, early = await stage.meet(mends_slots("box"), claims("b"), passes=True)
    assert mended == (1, 0)
    await store.resume("default")
    assert len(early.claimed) + len(await claim(store, "c")) == 1
    assert await faults(stage.backend) == []


async def test_two_mends_free_a_place_once(store: Store, stage: Stage) -> None:
    await one_loose_place(store, stage.backend)
    assert await stage.meet(mends_slots("box"), mends_slots("box"), passes=True) == ((1, 0), (0, 0))
    assert await faults(stage.backend) == []


async def test_a_place_that_is_being_settled_is_not_waited_for(store: Store, stage: Stage) -> None:
    owned = await one_loose_place(store, stage.backend)
    _, mended = await stage.meet(settles("a", [succeeded(owned)]), mends_slots("box"), passes=True)
    assert mended == (1, 0)
    assert await faults(stage.backend) == []


async def test_a_place_that_is_being_claimed_is_not_loose(store: Store, stage: Stage) -> None:
    await enqueue_one(store, limits=(BOX,))
    turn, mended = await stage.meet(claims("a"), mends_slots("box"), passes=True)
    assert (len(turn.claimed), mended) == (1, (0, 0))
    assert await state_of(store, turn.claimed[0].lease.job) is State.RUNNING
    assert await faults(stage.backend) == []
