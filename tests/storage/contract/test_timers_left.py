"""Timers that nobody waits for are dropped; those of kinds that this code does not know are left alone."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    copy_row,
    count,
    enqueue_one,
    job_in,
    recoverable,
    seconds,
    settle,
    state_of,
)

NOTHING = timedelta(0)
EVERYTHING = Retention(succeeded=NOTHING, others=NOTHING, keyed=NOTHING)


async def time_too(backend: Backend, job: UUID, kind: str) -> None:
    """Give a job that waits a second timer, for the same moment."""
    await copy_row(
        backend, "tenure.timer", f"job = '{job}' AND kind NOT IN ('expire', 'wait')", kind=f"'{kind}'"
    )


async def kinds(backend: Backend) -> list[str]:
    return [kind for (kind,) in await backend.sql("SELECT kind FROM tenure.timer ORDER BY kind")]


async def waiting_one(store: Store) -> UUID:
    """A job that backs off for ten seconds."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned, after=seconds(10))])
    return job


async def leave_timer_of_pruned_job(store: Store, backend: Backend, clock: Clock) -> None:
    """As two verbs that met may leave it: the timer comes back after its job has gone."""
    job = await waiting_one(store)
    await backend.sql("CREATE TABLE kept_timer AS SELECT * FROM tenure.timer")
    await store.cancel([job])
    await clock.advance(seconds(20))
    assert (await store.prune(EVERYTHING)).jobs == 1
    await backend.sql("INSERT INTO tenure.timer SELECT * FROM kept_timer")
    await backend.sql("DROP TABLE kept_timer")


async def test_a_due_timer_whose_job_is_gone_is_dropped(store: Store, backend: Backend, clock: Clock) -> None:
    """An idle worker would look at it again and again, for ever."""
    await leave_timer_of_pruned_job(store, backend, clock)
    assert (await store.outlook([MAIL])).next_timer is not None
    assert await store.promote(10) == []
    assert await count(backend, "tenure.timer") == 0
    assert (await store.outlook([MAIL])).next_timer is None


async def test_timers_of_jobs_that_are_gone_keep_no_other_waiting(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """Neither a job behind them, nor is a promotion of few jobs used up by them for good."""
    await leave_timer_of_pruned_job(store, backend, clock)
    later = await enqueue_one(store, delay=seconds(5))
    await clock.advance(seconds(5))
    promoted = [moved.job for _ in range(2) for moved in await store.promote(1)]
    assert promoted == [later]
    await store.promote(1)
    assert await count(backend, "tenure.timer") == 0


async def test_a_due_timer_that_does_not_count_is_dropped(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """Its job waits for another moment: it is promoted then, and once."""
    job = await waiting_one(store)
    early = await enqueue_one(store, delay=seconds(5))
    await copy_row(backend, "tenure.timer", f"job = '{early}'", job=f"'{job}'")
    await clock.advance(seconds(5))
    assert [moved.job for moved in await store.promote(10)] == [early]
    assert await kinds(backend) == ["retry"]
    await clock.advance(seconds(5))
    assert [moved.job for moved in await store.promote(10)] == [job]


async def test_pruning_takes_all_timers_of_a_job(store: Store, backend: Backend, clock: Clock) -> None:
    """Of kinds that this code does not know as well; the worker then has nothing to look at."""
    job = await waiting_one(store)
    await time_too(backend, job, "expire")
    await time_too(backend, job, "wait")
    others = await enqueue_one(store, delay=seconds(500))
    await time_too(backend, others, "wait")
    await store.cancel([job])
    await clock.advance(seconds(20))
    assert (await store.prune(EVERYTHING)).jobs == 1
    assert await kinds(backend) == ["scheduled", "wait"]
    await store.cancel([others])
    await clock.advance(seconds(1))
    assert (await store.prune(EVERYTHING)).jobs == 1
    assert await kinds(backend) == []
    assert (await store.outlook([MAIL])).next_timer is None


async def test_timers_of_unknown_kinds_are_neither_counted_nor_taken(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """A newer version has written them and acts on them; an older worker that counted them would spin."""
    job = await waiting_one(store)
    await backend.sql("UPDATE tenure.timer SET kind = 'pulse'")
    await clock.advance(seconds(20))
    assert (await store.outlook([MAIL])).next_timer is None
    assert await store.promote(10) == []
    assert await kinds(backend) == ["pulse"]
    assert await state_of(store, job) is State.RETRYING


async def test_every_verb_leaves_a_timer_of_an_unknown_kind(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """It falls on the very moment of the one that the verb is about."""
    held = await job_in(store, State.CREATED)
    await time_too(backend, held, "expire")
    await store.accept([held])
    assert await kinds(backend) == ["expire"]

    given_up = await waiting_one(store)
    await time_too(backend, given_up, "expire")
    assert [(standing.job, standing.moved) for standing in await store.give_up([given_up])] == [
        (given_up, True)
    ]
    assert await kinds(backend) == ["expire", "expire", "give_up"]
    assert [moved.job for moved in await store.promote(10)] == [given_up]
    assert await kinds(backend) == ["expire", "expire"]

    cancelled = await enqueue_one(store, delay=seconds(10))
    await time_too(backend, cancelled, "expire")
    await store.cancel([cancelled])
    assert await kinds(backend) == ["expire"] * 3

    promoted = await enqueue_one(store, delay=seconds(10))
    await time_too(backend, promoted, "expire")
    await clock.advance(seconds(20))
    assert [moved.job for moved in await store.promote(10)] == [promoted]
    assert await kinds(backend) == ["expire"] * 4


async def test_two_timers_of_a_job_may_fall_on_the_same_moment(store: Store, backend: Backend) -> None:
    """Else one that is there already would make a settlement fail."""
    beside = await enqueue_one(store, delay=seconds(10))
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await copy_row(backend, "tenure.timer", f"job = '{beside}'", job=f"'{job}'", kind="'expire'")
    settled = await settle(store, [recoverable(owned, after=seconds(10))])
    assert settled.accepted == {owned.lease: State.RETRYING}
    assert await kinds(backend) == ["expire", "retry", "scheduled"]
