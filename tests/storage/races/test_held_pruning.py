"""Meetings with pruning: it is held before its commit, or comes while another call holds a job."""

import asyncio
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.races.blocked_processes import PATIENCE, is_waiting
from tests.storage.races.record_check import faults
from tests.storage.races.requests import AT_ONCE, cancels, pages, promotes, prunes, replays, settles
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import (
    EVERY_JOB,
    MAIL,
    claim,
    copy_row,
    count,
    enqueue_one,
    found,
    jobs_and_next,
    listed,
    recoverable,
    seconds,
)
from tests.until import until


async def ended_jobs(store: Store, number: int) -> list[UUID]:
    made = await store.enqueue([NewJob(definition="mail", tags=("red",)) for _ in range(number)])
    jobs = [one.id for one in made]
    await store.cancel(jobs)
    return jobs


async def test_a_replay_waits_for_pruning_and_finds_the_job_gone(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """The job existed when the replay began; once it is gone, there is nothing to run again."""
    jobs = await ended_jobs(store, 3)

    pruned, replayed = await stage.meet(prunes(), replays(jobs[::-1]))

    assert jobs_and_next(pruned) == (3, None)
    assert replayed == tuple(Replayed(job, None, None, fresh=False) for job in jobs[::-1])
    assert await count(backend, "tenure.job") == 0
    assert await faults(backend) == []


async def test_pruning_that_came_to_nothing_leaves_the_job_to_its_replay(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """Its process died before the commit: all that it had deleted is there."""
    [job] = await ended_jobs(store, 1)
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(prunes())
        waiting = asyncio.create_task(stage.bob.ask(replays([job])))
        await until(lambda: is_waiting(backend, stage.bob, behind=stage.alice))
        stage.alice.leave()
        [replayed] = (await waiting).answer
    assert (replayed.state, replayed.fresh) == (State.CANCELLED, True)
    assert (await found(store, replayed.replay)).replay_of == job
    assert await faults(backend) == []


async def test_pruning_passes_over_what_is_being_replayed(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """The others go. On SQLite it waits and takes this one too, behind a replay that is whole by then."""
    jobs = await ended_jobs(store, 3)

    [replayed], pruned = await stage.meet(replays(jobs[1:2]), prunes(), passes=True)

    assert (replayed.state, replayed.fresh) == (State.CANCELLED, True)
    assert jobs_and_next(pruned) == (2 if backend.kind == "postgres" else 3, None)
    await store.prune(AT_ONCE)
    assert [one.id for one in await listed(store)] == [replayed.replay]
    replay = await found(store, replayed.replay)
    assert (replay.replay_of, replay.tags) == (jobs[1], ("red",))
    assert [one.lease.job for one in await claim(store)] == [replayed.replay]
    assert await faults(backend) == []


async def test_a_page_shows_what_is_being_pruned_until_it_is_gone(store: Store, stage: Stage) -> None:
    """A read does not wait, not even on SQLite, and never sees half of a deletion."""
    jobs = await ended_jobs(store, 5)
    async with asyncio.timeout(PATIENCE):
        await stage.alice.hold(prunes())
        before = (await stage.bob.ask(pages(EVERY_JOB))).answer
        stage.alice.go()
        assert jobs_and_next((await stage.alice.done()).answer) == (5, None)
    assert [one.id for one in before.jobs] == jobs[::-1]
    assert all(one.tags == ("red",) and one.state is State.CANCELLED for one in before.jobs)
    assert (await stage.bob.ask(pages(EVERY_JOB))).answer.jobs == ()


async def test_a_timer_that_a_cancellation_could_not_see_goes_with_its_job(
    store: Store, backend: Backend, stage: Stage, clock: Clock
) -> None:
    """It is newer than what the cancellation saw when it began. Left behind, it would be due for ever."""
    await store.enqueue([NewJob(definition="mail")])
    [owned] = await claim(store)
    await stage.meet(settles("a", [recoverable(owned, seconds(500))]), cancels([owned.lease.job]))

    assert jobs_and_next(await store.prune(AT_ONCE)) == (1, None)

    await clock.advance(seconds(600))
    assert (await store.outlook([MAIL])).next_timer is None
    assert await faults(backend) == []


async def test_pruning_takes_a_timer_that_a_promotion_passed_over(
    store: Store, backend: Backend, stage: Stage, clock: Clock
) -> None:
    """The promotion sees a job that is being deleted, and cannot have its timer: pruning removes that."""
    [job] = await ended_jobs(store, 1)
    await copy_timer(store, backend, job)
    await clock.advance(seconds(600))

    pruned, promoted = await stage.meet(prunes(), promotes(at=clock.now), passes=True)

    assert (pruned.jobs, promoted) == (2, ())
    assert await count(backend, "tenure.timer") == 0
    assert await faults(backend) == []


async def test_a_promotion_drops_a_timer_before_pruning_comes_to_its_job(
    store: Store, backend: Backend, stage: Stage, clock: Clock
) -> None:
    """Pruning leaves a job that the promotion has locked for another time; the timer is gone by then."""
    [job] = await ended_jobs(store, 1)
    await copy_timer(store, backend, job)
    await clock.advance(seconds(600))

    promoted, pruned = await stage.meet(promotes(at=clock.now), prunes(), passes=True)

    assert (promoted, pruned.jobs) == ((), 1 if backend.kind == "postgres" else 2)
    assert await count(backend, "tenure.timer") == 0
    assert await faults(backend) == []


async def copy_timer(store: Store, backend: Backend, job: UUID) -> None:
    """Give a job that has ended a timer, as two verbs that met may leave it."""
    other = await enqueue_one(store, delay=seconds(500))
    await copy_row(backend, "tenure.timer", f"job = '{other}'", job=f"'{job}'")
    await store.cancel([other])
