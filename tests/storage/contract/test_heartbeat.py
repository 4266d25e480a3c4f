"""Heartbeats: how a worker keeps what it owns, hears what it should stop, and tells how far it has come."""

from datetime import timedelta
from uuid import uuid4

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Beat, Lease, Progress, Pulse
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)

MOMENT = timedelta(microseconds=1)


async def beat(store: Store, *leases: Lease, worker: str = "a", **by_name: Progress) -> Beat:
    """A sign of life; `half=Progress(…)` would be the same progress for every lease."""
    progress = {lease: value for value in by_name.values() for lease in leases}
    return await store.heartbeat(
        Pulse(worker=worker, leases=leases, lease_for=seconds(30), progress=progress)
    )


async def test_a_heartbeat_prolongs_the_lease(store: Store, clock: Clock) -> None:
    """S1.58: a sign of life moves both the time of the last one and the end of the lease."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(30))
    now = await clock.advance(seconds(20))

    answer = await beat(store, claimed.lease)

    assert answer == Beat(kept=frozenset({claimed.lease}), lost=frozenset(), cancelling=frozenset())
    running = await found(store, job)
    assert (running.heartbeat_at, running.lease_expires_at) == (now, now + seconds(30))


async def test_a_worker_that_beats_keeps_its_job_however_long_it_takes(store: Store, clock: Clock) -> None:
    """S0.61, S2.35: while the lease is prolonged in time nobody else may have the job."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a", lease_for=seconds(30))
    for _ in range(10):
        await clock.advance(seconds(30) - MOMENT)
        assert (await beat(store, claimed.lease)).kept == {claimed.lease}
        assert await store.reap(10) == []
        assert await claim(store, worker="b") == []

    assert (await settle(store, [succeeded(claimed)])).accepted == {claimed.lease: State.SUCCEEDED}
    assert (await found(store, job)).attempt == 1


async def test_a_heartbeat_is_no_step(store: Store) -> None:
    """It is kept on the lease: neither an event nor an attempt comes of it."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    await beat(store, claimed.lease)
    assert await path_of(store, job) == ["queued", "started"]
    assert len(await store.attempts(job)) == 1


async def test_a_dead_lease_is_not_revived(store: Store, clock: Clock) -> None:
    """S0.61, S0.62: once it has run out it stays so, even if nobody has reaped it yet."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    before = await record_of(store, job)

    answer = await beat(store, claimed.lease, half=Progress(0.5))

    assert (set(answer.kept), set(answer.lost)) == (set(), {claimed.lease})
    assert await record_of(store, job) == before
    assert (await settle(store, [succeeded(claimed)])).lost == [claimed.lease]
    assert [moved.job for moved in await store.reap(10)] == [job]


async def test_a_lease_given_up_in_time_is_lost_to_later_heartbeats(store: Store) -> None:
    """What was settled is no longer owned."""
    await store.enqueue([NewJob(definition="mail") for _ in range(3)])
    done, backing_off, kept = await claim(store)
    await settle(store, [succeeded(done), recoverable(backing_off)])

    answer = await beat(store, done.lease, backing_off.lease, kept.lease)

    assert (set(answer.kept), set(answer.lost)) == ({kept.lease}, {done.lease, backing_off.lease})


async def test_a_worker_that_lost_its_job_hears_of_it_and_disturbs_nobody(store: Store, clock: Clock) -> None:
    """S0.14: the heartbeat of the former owner keeps nothing and leaves the next owner's lease as it is."""
    job = await enqueue_one(store)
    [old] = await claim(store, worker="a", lease_for=seconds(30))
    await clock.advance(seconds(30))
    await store.reap(10)
    [new] = await claim(store, worker="b", lease_for=seconds(60))
    before = await record_of(store, job)

    answer = await beat(store, old.lease, worker="a", half=Progress(0.5))

    assert (set(answer.kept), set(answer.lost)) == (set(), {old.lease})
    assert await record_of(store, job) == before
    assert (await beat(store, new.lease, worker="b")).kept == {new.lease}


async def test_nobody_prolongs_the_lease_of_another_worker(store: Store, clock: Clock) -> None:
    """S0.14: knowing the fence is not owning the job."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a")
    await clock.advance(seconds(10))
    before = await record_of(store, job)

    answer = await beat(store, claimed.lease, worker="b", half=Progress(0.5))

    assert (set(answer.kept), set(answer.lost)) == (set(), {claimed.lease})
    assert await record_of(store, job) == before


async def test_a_lease_that_still_covers_one_job_no_longer_covers_the_one_given_back(store: Store) -> None:
    """S0.14: of two jobs claimed together one went to another worker, and with it the right to report."""
    given_back, kept = await enqueue_one(store), await enqueue_one(store)
    first, second = await claim(store, worker="a")
    await store.hand_back("a", unstarted=[first.lease], killed=[])
    await claim(store, worker="b")
    before = await record_of(store, given_back)

    answer = await beat(store, first.lease, second.lease, worker="a", half=Progress(0.5))

    assert (set(answer.kept), set(answer.lost)) == ({second.lease}, {first.lease})
    assert await record_of(store, given_back) == before
    assert (await found(store, kept)).progress == Progress(0.5)


async def test_forged_leases_are_lost(store: Store) -> None:
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    forged = Lease(job, claimed.lease.fence + 1)
    unknown = Lease(uuid4(), claimed.lease.fence)

    answer = await beat(store, claimed.lease, forged, unknown)

    assert (set(answer.kept), set(answer.lost)) == ({claimed.lease}, {forged, unknown})


async def test_a_heartbeat_prolongs_only_what_it_names(store: Store, clock: Clock) -> None:
    """S0.73: a claim whose answer never reached the worker runs out, however lively that worker is."""
    named, unheard = await enqueue_one(store), await enqueue_one(store)
    [known] = await claim(store, worker="a", limit=1, lease_for=seconds(30))
    await claim(store, worker="a", limit=1, lease_for=seconds(30))
    await clock.advance(seconds(20))
    await beat(store, known.lease)
    await clock.advance(seconds(10))

    assert [moved.job for moved in await store.reap(10)] == [unheard]
    assert await state_of(store, named) is State.RUNNING


async def test_a_worker_hears_which_jobs_to_stop(store: Store) -> None:
    """S1.70: the lease of a cancelling job is kept, so that the worker has time to stop it."""
    stop, go_on = await enqueue_one(store), await enqueue_one(store)
    first, second = await claim(store)
    assert (first.lease.job, second.lease.job) == (stop, go_on)
    await store.cancel([stop])

    answer = await beat(store, first.lease, second.lease)

    assert answer.kept == {first.lease, second.lease}
    assert answer.cancelling == {first.lease}


async def test_a_lost_job_is_not_among_those_to_stop(store: Store, clock: Clock) -> None:
    """Who no longer owns a job hears only that it is lost."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(30))
    await store.cancel([job])
    await clock.advance(seconds(30))
    answer = await beat(store, claimed.lease)
    assert (set(answer.lost), set(answer.cancelling)) == ({claimed.lease}, set())


async def test_progress_is_seen_by_who_asks(store: Store) -> None:
    """How far an attempt has come is kept in the store, not in the worker."""
    first, second = await enqueue_one(store), await enqueue_one(store)
    one, two = await claim(store)
    pulse = Pulse(
        worker="a",
        leases=[one.lease, two.lease],
        progress={one.lease: Progress(0.25, "a quarter, “nearly”"), two.lease: Progress(1.0)},
    )
    await store.heartbeat(pulse)

    assert (await found(store, first)).progress == Progress(0.25, "a quarter, “nearly”")
    assert (await found(store, second)).progress == Progress(1.0)


async def test_silence_about_progress_changes_nothing(store: Store) -> None:
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    assert (await found(store, job)).progress is None
    await beat(store, claimed.lease, half=Progress(0.5, "half"))
    await beat(store, claimed.lease)
    assert (await found(store, job)).progress == Progress(0.5, "half")


async def test_leases_with_nothing_left_are_swept_away(store: Store, backend: Backend, clock: Clock) -> None:
    """A lease row goes with the first heartbeat after its last job was settled, and not before."""
    await store.enqueue([NewJob(definition="mail") for _ in range(4)])
    first, second = await claim(store, limit=2)
    [third] = await claim(store, limit=1)
    await settle(store, [succeeded(first), succeeded(third)])

    await beat(store, second.lease)
    assert await count(backend, "tenure.lease") == 1
    assert (await settle(store, [succeeded(second)])).accepted == {second.lease: State.SUCCEEDED}

    await beat(store)
    assert await count(backend, "tenure.lease") == 0


async def test_the_leases_of_other_workers_are_left_alone(store: Store, backend: Backend) -> None:
    await enqueue_one(store)
    [claimed] = await claim(store, worker="a")
    await settle(store, [succeeded(claimed)])
    running = await enqueue_one(store)
    await claim(store, worker="b")

    await beat(store, worker="c")

    assert await state_of(store, running) is State.RUNNING
    assert await count(backend, "tenure.lease") == 2


async def test_a_worker_without_jobs_may_beat(store: Store) -> None:
    assert await beat(store) == Beat(kept=frozenset(), lost=frozenset(), cancelling=frozenset())
