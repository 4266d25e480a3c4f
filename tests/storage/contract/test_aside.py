"""Jobs that the database refuses to move: their neighbours go on, and they are put aside until mended."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from tenure.core.errors import DataRefused
from tenure.core.model.aside import Aside, JobsAside, Met
from tenure.core.model.lease import Claimed, Lease, Order
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Ending, Report
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.core.model.turn import TurnResult
from tenure.core.reports.reading import Filter
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    BOOM,
    MAIL,
    claim,
    count,
    enqueue_one,
    found,
    hold_together,
    listed,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    state_of,
    stopped,
    succeeded,
    unrecoverable,
)

NEIGHBOURS = 19
LIMIT = Limit("narrow", "", 1)


async def many(store: Store, number: int = NEIGHBOURS + 1, **requested: Any) -> list[UUID]:
    return [await enqueue_one(store, **requested) for _ in range(number)]


async def put_aside(
    store: Store, reports: Sequence[Report], order: Order | None = None
) -> tuple[list[Aside], TurnResult]:
    """A turn that meets jobs which cannot be moved, and the same without them."""
    order = order or Order(worker="a", lines=(), limit=0)
    with pytest.raises(JobsAside) as met:
        await store.settle_and_claim(reports, order)
    gone = {one.lease for one in met.value.asides}
    rest = [report for report in reports if report.lease not in gone]
    return list(met.value.asides), await store.settle_and_claim(rest, order)


async def guilty_one(store: Store, backend: Backend) -> Claimed:
    """A job that runs, whose next step cannot be recorded."""
    await enqueue_one(store)
    [owned] = await claim(store, limit=1)
    await damaged_rows.next_event(backend.address, owned.lease.job)
    return owned


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


async def test_the_lease_stays_its_neighbours(store: Store, backend: Backend, clock: Clock) -> None:
    """S0.14: neither longer nor shorter than it was, though it is lent to settle the one that was aside."""
    await many(store, 3)
    batch = await claim(store)
    await damaged_rows.next_event(backend.address, batch[0].lease.job)
    await put_aside(store, [succeeded(batch[0])])
    await damaged_rows.mend(backend.address, batch[0].lease.job)
    before = await found(store, batch[1].lease.job)

    await clock.advance(seconds(29))
    await store.put_back(batch[0].lease.job)

    assert await found(store, batch[1].lease.job) == before
    assert (await settle(store, [succeeded(batch[1])])).accepted
    await clock.advance(seconds(1))
    assert (await settle(store, [succeeded(batch[2])])).lost
    assert [moved.job for moved in await store.reap(10)] == [batch[2].lease.job]


async def test_a_report_that_was_kept_counts_once_the_job_is_mended(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """It had come in time; that the lease has run out meanwhile is nobody's fault."""
    await many(store, 2)
    guilty, other = await claim(store)
    await damaged_rows.result(backend.address, guilty.lease.job)
    await put_aside(store, [succeeded(guilty, '{"kept":true}')])
    await clock.advance(timedelta(hours=2))
    await damaged_rows.mend(backend.address, guilty.lease.job)

    standing = await store.put_back(guilty.lease.job)

    assert standing is not None
    assert (standing.state, standing.moved) == (State.SUCCEEDED, True)
    job = await found(store, guilty.lease.job)
    assert job.result == '{"kept":true}'
    events = await store.events(guilty.lease.job)
    assert hold_together(events)
    assert (events[-1].type, events[-1].actor, events[-1].fence) == ("succeeded", "a", guilty.lease.fence)
    assert [moved.job for moved in await store.reap(10)] == [other.lease.job]
    assert (await store.asides()).jobs == []
    assert (await store.counts(Filter()))[State.RUNNING].n == 0


async def test_an_attempt_that_reported_nothing_is_taken_from_its_owner(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """As the reaper does: under its fence, and one attempt is spent."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await damaged_rows.next_event(backend.address, job)
    await clock.advance(seconds(31))
    with pytest.raises(JobsAside):
        await store.reap(10)
    await damaged_rows.mend(backend.address, job)

    standing = await store.put_back(job)

    assert standing is not None
    assert (standing.state, standing.moved) == (State.QUEUED, True)
    assert (await path_of(store, job))[-1] == "orphaned"
    [again] = await claim(store, worker="b")
    assert (again.lease.job, again.attempt) == (job, 2)
    assert (await settle(store, [succeeded(owned)])).lost == [owned.lease]
    assert (await settle(store, [succeeded(again)], worker="b")).accepted


async def test_what_must_not_run_twice_does_not(store: Store, backend: Backend, clock: Clock) -> None:
    job = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    await claim(store)
    await damaged_rows.next_event(backend.address, job)
    await clock.advance(seconds(31))
    with pytest.raises(JobsAside):
        await store.reap(10)
    await damaged_rows.mend(backend.address, job)
    standing = await store.put_back(job)
    assert standing is not None
    assert standing.state is State.BURIED


async def test_jobs_that_waited_go_on_waiting_where_they_were(
    store: Store, backend: Backend, clock: Clock
) -> None:
    queued, later = await many(store, 2)
    scheduled = await enqueue_one(store, delay=seconds(5))
    given_up = await enqueue_one(store, "other")
    [failing] = await claim(store, lines=[type(MAIL)("default", "other")])
    await settle(store, [recoverable(failing)])
    await store.give_up([given_up])
    for job in (queued, scheduled, given_up):
        await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await claim(store)
    await clock.advance(seconds(6))
    with pytest.raises(JobsAside):
        await store.promote(10)
    assert (await store.asides()).in_all == 3

    for job in (queued, scheduled, given_up):
        await damaged_rows.mend(backend.address, job)
        standing = await store.put_back(job)
        assert standing is not None
        assert standing.moved

    assert {one.job: one.target for one in await store.promote(10)} == {
        scheduled: State.QUEUED,
        given_up: State.FAILED,
    }
    assert [one.lease.job for one in await claim(store)] == [queued, later, scheduled]


async def test_what_was_not_mended_is_refused_again_and_stays_aside(store: Store, backend: Backend) -> None:
    owned = await guilty_one(store, backend)
    await put_aside(store, [unrecoverable(owned)])
    before = await store.asides()
    with pytest.raises(DataRefused):
        await store.put_back(owned.lease.job)
    assert await store.asides() == before
    assert await state_of(store, owned.lease.job) is State.RUNNING


async def test_only_what_is_aside_is_put_back_and_only_once(store: Store, backend: Backend) -> None:
    owned = await guilty_one(store, backend)
    other = await enqueue_one(store)
    await put_aside(store, [succeeded(owned)])
    await damaged_rows.mend(backend.address, owned.lease.job)
    moved = [standing.moved for _ in range(2) if (standing := await store.put_back(owned.lease.job))]
    assert moved == [True, False]
    untouched = await store.put_back(other)
    assert untouched is not None
    assert (untouched.state, untouched.moved) == (State.QUEUED, False)
    assert await store.put_back(UUID(int=7)) is None


async def test_a_report_that_leads_nowhere_is_no_report(store: Store, backend: Backend) -> None:
    """Nobody had asked this attempt to stop; its word that it did so counts for nothing, as ever."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await damaged_rows.no_lease(backend.address, job)
    [aside] = await store.strand("a", [stopped(owned)])
    assert aside.ending is Ending.STOPPED
    standing = await store.put_back(job)
    assert standing is not None
    assert standing.state is State.QUEUED


async def test_a_second_report_finds_the_job_aside(store: Store, backend: Backend) -> None:
    """Whoever did not hear the answer is told the same again, and the first report stays."""
    owned = await guilty_one(store, backend)
    await put_aside(store, [succeeded(owned, "1")])
    with pytest.raises(JobsAside):
        await settle(store, [succeeded(owned, "2")])
    [aside] = (await store.asides()).jobs
    assert aside.result == "1"


async def test_who_is_aside_is_not_cancelled(store: Store, backend: Backend) -> None:
    """Nobody would hear of it, or the step could not be recorded."""
    jobs = await many(store, 3)
    [owned] = await claim(store, limit=1)
    for job in jobs[:2]:
        await damaged_rows.next_event(backend.address, job)
    await put_aside(store, [succeeded(owned)], Order(worker="a", lines=(MAIL,), limit=1))

    standings = {one.job: one for one in await store.cancel(jobs)}

    assert [(standings[job].state, standings[job].moved) for job in jobs[:2]] == [
        (State.RUNNING, False),
        (State.QUEUED, False),
    ]
    assert all(standings[job].is_aside for job in jobs[:2])
    assert not standings[jobs[2]].is_aside


@pytest.mark.parametrize("state", [State.RUNNING, State.QUEUED, State.SCHEDULED])
async def test_lists_find_who_is_aside(store: Store, backend: Backend, clock: Clock, state: State) -> None:
    """They name it, too: it is not where jobs of its state are looked for otherwise."""
    delay: dict[str, Any] = {"delay": seconds(5)} if state is State.SCHEDULED else {}
    job = await enqueue_one(store, **delay)
    if state is State.RUNNING:
        await claim(store)
    await damaged_rows.next_event(backend.address, job)
    await clock.advance(seconds(31))
    with pytest.raises(JobsAside):
        await {State.RUNNING: store.reap, State.SCHEDULED: store.promote}.get(state, _claimed(store))(10)

    for which in (Filter(states=frozenset({state})), Filter()):
        [one] = await listed(store, which)
        assert (one.id, one.aside_at) == (job, await store.now())


async def test_jobs_aside_are_listed_by_namespace_the_latest_first(
    store: Store, backend: Backend, clock: Clock
) -> None:
    first = await enqueue_one(store, namespace="one")
    second = await enqueue_one(store, namespace="two")
    for job in (first, second):
        await damaged_rows.next_event(backend.address, job)
        with pytest.raises(JobsAside):
            await claim(store, limit=1)
        await clock.advance(seconds(1))
    both = await store.asides()
    assert ([one.job for one in both.jobs], both.in_all) == ([second, first], 2)
    assert [one.job for one in (await store.asides(limit=1)).jobs] == [second]
    [own] = (await store.asides(namespace="one")).jobs
    assert (own.job, own.namespace, own.line) == (first, "one", MAIL)
    assert [one.job for one in (await store.asides(jobs=[second])).jobs] == [second]


async def test_a_look_for_what_is_amiss_names_who_is_aside_and_what_to_mend(
    store: Store, backend: Backend
) -> None:
    """Not that it stands in no line: to be cancelled and replayed is not its way out."""
    job = await enqueue_one(store)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await claim(store)
    found_amiss = {finding.kind: finding for finding in await store.inspect()}
    assert set(found_amiss) == {"aside", "event"}
    assert f"tenure jobs put-back {job}" in found_amiss["aside"].cure
    await damaged_rows.mend(backend.address, job)
    await store.put_back(job)
    assert await store.inspect() == []


def _of(claimed: Claimed) -> tuple[UUID, int]:
    return claimed.lease.job, claimed.lease.fence


def _claimed(store: Store):  # type: ignore[no-untyped-def]
    return lambda limit: claim(store, limit=limit)
