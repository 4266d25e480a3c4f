"""Meetings of what deletes: with settling, cancelling, replaying and each other; and of two operators."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.core.reports.retention import FOR_ALL, Retention
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.races.record_check import faults
from tests.storage.races.requests import (
    AT_ONCE,
    cancels,
    keeps,
    prunes,
    prunes_logs,
    purges,
    replays,
    settles,
)
from tests.storage.races.two_processes import Stage
from tests.storage.verbs import claim, count, enqueue_one, line, settle, state_of, trail, unrecoverable

DAY = timedelta(days=1)


async def dead_letters(store: Store, number: int, **asked: str) -> list[UUID]:
    """Jobs that have failed for good, with two log lines each."""
    jobs = [await enqueue_one(store, **asked) for _ in range(number)]
    owned = await claim(store, limit=number)
    await store.record("a", [trail(one, line(1), line(2)) for one in owned])
    await settle(store, [unrecoverable(one) for one in owned])
    return jobs


async def test_a_replay_waits_for_a_purge_and_finds_the_job_gone(
    store: Store, backend: Backend, stage: Stage
) -> None:
    jobs = await dead_letters(store, 3)
    purged, replayed = await stage.meet(purges(jobs), replays(jobs[::-1]))
    assert purged.counts == {("mail", State.FAILED): 3}
    assert replayed == tuple(Replayed(job, None, None, fresh=False) for job in jobs[::-1])
    assert await faults(backend) == []


async def test_a_purge_passes_over_what_is_being_replayed(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """On SQLite it waits and takes this one too, behind a replay that is whole by then."""
    jobs = await dead_letters(store, 3)
    [replayed], purged = await stage.meet(replays(jobs[:1]), purges(jobs), passes=True)
    assert (replayed.state, replayed.fresh) == (State.FAILED, True)
    assert purged.jobs == (2 if backend.kind == "postgres" else 3)
    assert [one.lease.job for one in await claim(store)] == [replayed.replay]
    assert await faults(backend) == []


async def test_a_job_that_is_being_settled_goes_whole_or_stays_whole(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """S0.72: while its end is not committed, it has not finished."""
    job = await enqueue_one(store)
    [owned] = await claim(store, "alice")
    settled, purged = await stage.meet(settles("alice", [unrecoverable(owned)]), purges([job]), passes=True)
    assert settled.settled.lost == ()
    assert purged.jobs == (0 if backend.kind == "postgres" else 1)
    assert await faults(backend) == []
    await store.prune(AT_ONCE)
    assert await count(backend, "tenure.job") == await count(backend, "tenure.attempt") == 0


async def test_a_job_that_is_being_cancelled_goes_whole_or_stays_whole(
    store: Store, backend: Backend, stage: Stage
) -> None:
    job = await enqueue_one(store)
    [standing], pruned = await stage.meet(cancels([job]), prunes(), passes=True)
    assert (standing.moved, pruned.jobs) == (True, 0 if backend.kind == "postgres" else 1)
    if backend.kind == "postgres":
        assert await state_of(store, job) is State.CANCELLED
    assert await faults(backend) == []


async def test_two_that_delete_the_same_lines_never_wait_for_each_other(
    store: Store, backend: Backend, stage: Stage
) -> None:
    """Each would hold lines that the other wants. Who comes second leaves the jobs for another time."""
    await dead_letters(store, 3)
    gone, pruned = await stage.meet(prunes_logs(), prunes(), passes=True)
    assert (gone.lines, pruned.jobs) == (6, 0 if backend.kind == "postgres" else 3)
    await store.prune(AT_ONCE)
    await dead_letters(store, 3)
    pruned, gone = await stage.meet(prunes(), prunes_logs(), passes=True)
    assert (pruned.jobs, gone.lines) == (3, 0)
    assert await count(backend, "tenure.log") == 0
    assert await faults(backend) == []


async def test_of_two_operators_that_set_different_parts_neither_undoes_the_other(
    store: Store, stage: Stage
) -> None:
    for definition in ("mail", FOR_ALL):
        await store.set_retention(definition, {"keyed": DAY})
        await stage.meet(keeps(definition, succeeded=2 * DAY), keeps(definition, others=3 * DAY))
    policy = await store.retention()
    expected = Retention(succeeded=2 * DAY, others=3 * DAY, keyed=DAY)
    assert policy.of("mail") == policy.for_all == expected
