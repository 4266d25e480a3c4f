"""One turn of a worker: settling and claiming in one transaction."""

from collections import Counter

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Order
from tenure.core.model.outcome import Report
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    count,
    enqueue_one,
    path_of,
    record_of,
    recoverable,
    seconds,
    spoil_next_event,
    state_of,
    step_over_spoilt_event,
    succeeded,
    suspended,
)

TURN = Order(worker="a", lines=(MAIL,), limit=10)


async def test_one_turn_settles_what_is_done_and_claims_what_is_next(store: Store) -> None:
    """S0.69: persist, acquire, repeat."""
    done, following = await enqueue_one(store), await enqueue_one(store)
    [first] = await claim(store, limit=1)

    turn = await store.settle_and_claim([succeeded(first)], TURN)

    assert turn.settled.accepted == {first.lease: State.SUCCEEDED}
    [second] = turn.claimed
    assert second.lease.job == following
    assert second.lease.fence > first.lease.fence
    assert await path_of(store, done) == ["queued", "started", "succeeded"]
    assert await path_of(store, following) == ["queued", "started"]


async def test_a_line_is_worked_off_turn_by_turn(store: Store) -> None:
    """S0.77: every job is owned once and ends once, and all of them end."""
    enqueued = await store.enqueue([NewJob(definition="mail") for _ in range(37)])
    worked: Counter[object] = Counter()
    reports: list[Report] = []
    while (turn := await store.settle_and_claim(reports, TURN)).claimed:
        assert turn.settled.lost == []
        assert len(turn.settled.accepted) == len(reports)
        worked.update(claimed.lease.job for claimed in turn.claimed)
        reports = [succeeded(claimed) for claimed in turn.claimed]

    assert worked == Counter({job.id: 1 for job in enqueued})
    assert {await state_of(store, job.id) for job in enqueued} == {State.SUCCEEDED}


async def test_a_lost_report_does_not_keep_a_worker_from_its_next_jobs(store: Store, clock: Clock) -> None:
    """What was lost is dropped; the turn goes on."""
    await enqueue_one(store)
    [late] = await claim(store, lease_for=seconds(30))
    await clock.advance(seconds(30))
    following = await enqueue_one(store)

    turn = await store.settle_and_claim([succeeded(late)], TURN)

    assert (turn.settled.accepted, turn.settled.lost) == ({}, [late.lease])
    assert [claimed.lease.job for claimed in turn.claimed] == [following]


@pytest.mark.parametrize("outcome", [recoverable, suspended])
async def test_a_job_does_not_come_back_in_the_turn_that_let_it_go(store: Store, outcome: object) -> None:
    """S0.16: even with no time to wait it has to be promoted first; a job takes one step at a time."""
    job = await enqueue_one(store)
    [claimed] = await claim(store)
    report = (recoverable if outcome is recoverable else suspended)(claimed, after=seconds(0))

    turn = await store.settle_and_claim([report], TURN)

    assert turn.claimed == []
    assert len(await store.promote(10)) == 1
    [again] = await claim(store)
    assert again.lease.job == job


async def test_a_foreign_report_is_lost_and_the_claim_stands(store: Store) -> None:
    """The worker of the order is the one that is believed."""
    job, following = await enqueue_one(store), await enqueue_one(store)
    [foreign] = await claim(store, worker="b", limit=1)

    turn = await store.settle_and_claim([succeeded(foreign)], TURN)

    assert turn.settled.lost == [foreign.lease]
    assert [claimed.lease.job for claimed in turn.claimed] == [following]
    assert await state_of(store, job) is State.RUNNING


async def test_a_turn_is_taken_whole_or_not_at_all(store: Store, backend: Backend) -> None:
    """S0.64, S3.36: when the claim cannot be recorded, nothing was settled either."""
    job = await enqueue_one(store)
    await enqueue_one(store, key="next")
    [claimed] = await claim(store, limit=1)
    before = await record_of(store, job)
    await spoil_next_event(backend, "next")

    with pytest.raises(StoreError):
        await store.settle_and_claim([succeeded(claimed)], TURN)

    assert await record_of(store, job) == before
    assert await count(backend, "tenure.lease") == 1
    [aside] = (await store.asides()).jobs
    await step_over_spoilt_event(backend, "next")
    await store.put_back(aside.job)
    turn = await store.settle_and_claim([succeeded(claimed)], TURN)
    assert (len(turn.settled.accepted), len(turn.claimed)) == (1, 1)


async def test_a_turn_without_reports_and_without_jobs_leaves_nothing_behind(
    store: Store, backend: Backend
) -> None:
    turn = await store.settle_and_claim([], TURN)
    assert (turn.settled.accepted, turn.settled.lost, turn.claimed) == ({}, [], [])
    assert await count(backend, "tenure.lease") == 0
