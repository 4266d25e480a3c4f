"""Jobs that the database refuses to move: their neighbours go on, and they are put aside until mended."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from tenure.core.model.aside import JobsAside, Met
from tenure.core.model.lease import Claimed, Lease, Order
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Ending, Report
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.aside_jobs import LIMIT, NEIGHBOURS, many, put_aside
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    BOOM,
    MAIL,
    claim,
    count,
    enqueue_one,
    record_of,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)


@pytest.mark.parametrize("made", ["event", "attempt", "result"])
async def test_one_report_that_cannot_be_recorded_holds_nobody_up(
    store: Store, backend: Backend, made: str
) -> None:
    """S3.36: nineteen neighbours settle; the guilty one is aside, with what it reported."""
    await many(store)
    batch = await claim(store, limit=NEIGHBOURS + 1)
    guilty = batch[7]
    await damaged_rows.HARMS[made](backend.address, guilty.lease.job)
    job, *history = await record_of(store, guilty.lease.job)

    [aside], turn = await put_aside(store, [succeeded(one, '{"sum":3}') for one in batch])

    assert len(turn.settled.accepted) == NEIGHBOURS
    assert (aside.job, aside.fence, aside.verb, aside.by) == (*_of(guilty), Met.SETTLE, "a")
    assert (aside.ending, aside.result, aside.state) == (Ending.SUCCEEDED, '{"sum":3}', State.RUNNING)
    assert aside.since == await store.now()
    assert aside.text
    assert await record_of(store, guilty.lease.job) == (replace(job, aside_at=aside.since), *history)
    assert [one.job for one in (await store.asides()).jobs] == [guilty.lease.job]


async def test_a_lease_that_was_deleted_strands_its_jobs_alone(store: Store, backend: Backend) -> None:
    """Nobody could ever settle or reap them; whoever finds out puts them aside."""
    await many(store)
    batch = [*await claim(store, limit=1), *await claim(store, limit=NEIGHBOURS)]
    await damaged_rows.no_lease(backend.address, batch[0].lease.job)
    reports = [recoverable(batch[0]), *(succeeded(one) for one in batch[1:])]

    settled = await settle(store, reports)

    assert (len(settled.accepted), settled.lost) == (NEIGHBOURS, [batch[0].lease])
    [aside] = await store.strand("a", reports)
    assert (aside.job, aside.fence, aside.verb, aside.code) == (*_of(batch[0]), Met.SETTLE, None)
    assert (aside.ending, aside.error) == (Ending.RECOVERABLE, BOOM)
    standing = await store.put_back(aside.job)
    assert standing is not None
    assert (standing.state, standing.moved) == (State.RETRYING, True)
    assert await count(backend, "tenure.lease") == 1


async def test_who_lost_a_lease_in_any_other_way_is_not_put_aside(store: Store, clock: Clock) -> None:
    jobs = await many(store, 4)
    batch = await claim(store)
    await settle(store, [succeeded(batch[0])])
    [foreign] = [one for one in batch if one.lease.job == jobs[1]]
    late: list[Report | Lease] = [succeeded(batch[0]), foreign.lease]
    assert await store.strand("a", late) == []
    await clock.advance(seconds(31))
    assert await store.strand("b", [succeeded(one) for one in batch]) == []
    await store.reap(10)
    assert await store.strand("a", [one.lease for one in batch]) == []
    assert await store.strand("a", []) == []


async def test_one_job_that_cannot_be_claimed_holds_nobody_up(store: Store, backend: Backend) -> None:
    """Its place in line is gone, and it is queued as before."""
    jobs = await many(store)
    await damaged_rows.next_event(backend.address, jobs[3])
    order = Order(worker="a", lines=(MAIL,), limit=50)

    [aside], turn = await put_aside(store, [], order)

    assert (aside.job, aside.verb, aside.state, aside.fence) == (jobs[3], Met.CLAIM, State.QUEUED, 0)
    assert (aside.ending, aside.result, aside.error) == (None, None, None)
    assert [one.lease.job for one in turn.claimed] == [job for job in jobs if job != jobs[3]]
    assert not (await store.outlook([MAIL])).waiting
    assert await state_of(store, jobs[3]) is State.QUEUED


async def test_what_is_told_of_is_sifted_too(store: Store, backend: Backend) -> None:
    """A worker that is idle claims where a hint says that jobs are; the next claim comes all the same."""
    async with store.listen() as wakeups:
        assert await claim(store) == []
        guilty = await enqueue_one(store)
        await damaged_rows.next_event(backend.address, guilty)
        other = await enqueue_one(store)
        await wakeups.wait(5)
        asides, turn = await put_aside(store, [], Order(worker="a", lines=(MAIL,), limit=5))
    assert [one.job for one in asides] == [guilty]
    assert [one.lease.job for one in turn.claimed] == [other]


async def test_a_turn_may_meet_one_of_each(store: Store, backend: Backend) -> None:
    running, queued, other = await many(store, 3)
    [owned] = await claim(store, limit=1)
    for job in (running, queued):
        await damaged_rows.next_event(backend.address, job)

    asides, turn = await put_aside(store, [succeeded(owned)], Order(worker="a", lines=(MAIL,), limit=5))

    assert {one.job: one.verb for one in asides} == {running: Met.SETTLE, queued: Met.CLAIM}
    assert [one.lease.job for one in turn.claimed] == [other]


async def test_a_step_of_the_clock_that_cannot_be_taken_holds_nobody_up(
    store: Store, backend: Backend, clock: Clock
) -> None:
    jobs = await many(store, delay=seconds(5))
    await damaged_rows.next_event(backend.address, jobs[0])
    await clock.advance(seconds(6))

    with pytest.raises(JobsAside) as met:
        await store.promote(1000)

    [aside] = met.value.asides
    assert (aside.job, aside.verb, aside.by, aside.state) == (
        jobs[0],
        Met.PROMOTE,
        "clock",
        State.SCHEDULED,
    )
    assert [moved.job for moved in await store.promote(1000)] == jobs[1:]
    assert (await store.outlook([MAIL])).next_timer is None


async def test_a_job_that_cannot_be_reaped_holds_nobody_up(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """S0.61: its neighbours under the same lease are taken from the worker that is gone."""
    await many(store)
    batch = await claim(store, limit=NEIGHBOURS + 1)
    await damaged_rows.next_event(backend.address, batch[4].lease.job)
    await clock.advance(seconds(31))

    with pytest.raises(JobsAside) as met:
        await store.reap(1000)

    [aside] = met.value.asides
    assert (aside.job, aside.verb, aside.by, aside.state) == (
        batch[4].lease.job,
        Met.REAP,
        "reaper",
        State.RUNNING,
    )
    assert len(await store.reap(1000)) == NEIGHBOURS
    assert await store.reap(1000) == []
    assert await count(backend, "tenure.lease") == 0
    assert (await store.outlook([MAIL])).next_expiry is None


async def test_a_job_that_cannot_be_given_back_holds_nobody_up(store: Store, backend: Backend) -> None:
    await many(store)
    batch = [one.lease for one in await claim(store, limit=NEIGHBOURS + 1)]
    await damaged_rows.attempt(backend.address, batch[0].job)

    with pytest.raises(JobsAside) as met:
        await store.hand_back("a", unstarted=batch[:10], killed=batch[10:])

    [aside] = met.value.asides
    assert (aside.job, aside.verb) == (batch[0].job, Met.HAND_BACK)
    returned = await store.hand_back("a", unstarted=batch[1:10], killed=batch[10:])
    assert len(returned.accepted) == NEIGHBOURS


async def test_the_guilty_are_found_however_many_there_are(store: Store, backend: Backend) -> None:
    """Some at a time, so that the search ends before anybody's patience does."""
    jobs = await many(store, 40)
    bad = jobs[::2]
    for job in bad:
        await damaged_rows.next_event(backend.address, job)
    aside: list[UUID] = []
    for _ in range(2):
        with pytest.raises(JobsAside) as met:
            await claim(store, limit=100)
        aside += [one.job for one in met.value.asides]
    assert sorted(aside) == sorted(bad)
    assert [one.lease.job for one in await claim(store, limit=100)] == jobs[1::2]


async def test_a_job_aside_gives_its_room_to_others(store: Store, backend: Backend) -> None:
    """Nobody waits for a slot that a job holds which cannot end."""
    first, second = await many(store, 2, limits=(LIMIT,))
    [owned] = await claim(store)
    await damaged_rows.result(backend.address, first)
    await put_aside(store, [succeeded(owned)])

    [following] = await claim(store)

    assert following.lease.job == second
    await damaged_rows.mend(backend.address, first)
    standing = await store.put_back(first)
    assert standing is not None
    assert standing.state is State.SUCCEEDED
    third = await enqueue_one(store, limits=(LIMIT,))
    assert await claim(store) == []  # the slot is the second's, and was freed once
    await settle(store, [succeeded(following)])
    assert [one.lease.job for one in await claim(store)] == [third]
    [use] = await store.limits()
    assert use.held == 1


async def test_who_waits_for_a_slot_that_its_turn_gives_back_is_sifted_too(
    store: Store, backend: Backend
) -> None:
    """By itself neither half of that turn is refused: what was reported is settled all the same."""
    ending, guilty, other = await many(store, 3, limits=(LIMIT,))
    [owned] = await claim(store)
    await damaged_rows.next_event(backend.address, guilty)

    turn = await store.settle_and_claim([succeeded(owned)], Order(worker="a", lines=(MAIL,), limit=5))

    assert turn.settled.accepted == {owned.lease: State.SUCCEEDED}
    assert await state_of(store, ending) is State.SUCCEEDED
    assert [(one.job, one.verb) for one in turn.asides] == [(guilty, Met.CLAIM)]
    assert [one.lease.job for one in turn.claimed] == [other]


async def test_who_shares_a_limit_with_a_longer_line_is_found(store: Store, backend: Backend) -> None:
    """The search comes to it as the claim does: past those who wait for a limit of their own."""
    shared = Limit("shared", "", 4)
    long, short = ((Limit("own", key, 2), shared) for key in "ab")
    jobs = await many(store, 10, limits=long, priority=1)
    guilty, other = await many(store, 2, limits=short)
    await damaged_rows.next_event(backend.address, guilty)

    asides, turn = await put_aside(store, [], Order(worker="a", lines=(MAIL,), limit=50))

    assert [one.job for one in asides] == [guilty]
    assert [one.lease.job for one in turn.claimed] == [*jobs[:2], other]


def _of(claimed: Claimed) -> tuple[UUID, int]:
    return claimed.lease.job, claimed.lease.fence
