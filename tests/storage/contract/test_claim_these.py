"""Claiming certain jobs by their ids, as messages lead to them."""

from collections.abc import Iterable
from uuid import UUID, uuid4

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.claim_by_id import TheseClaimed, WhyUnclaimed
from tenure.core.model.lease import Line, Order
from tenure.core.model.limit import Limit
from tenure.core.model.policy import OnLost, Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    MAIL,
    claim,
    count,
    enqueue_one,
    found,
    one_in_each_state,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    spoil_next_event,
    state_of,
    step_over_spoilt_event,
    succeeded,
)

FINAL = (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.BURIED)


async def claim_these(
    store: Store, ids: Iterable[UUID], worker: str = "a", lines: tuple[Line, ...] = (MAIL,)
) -> TheseClaimed:
    order = Order(worker=worker, lines=lines, limit=50, lease_for=seconds(30))
    return await store.claim_these(order, list(ids))


def taken(answer: TheseClaimed) -> list[UUID]:
    return [one.lease.job for one in answer.claimed]


def why(answer: TheseClaimed) -> dict[UUID, str]:
    return {job: str(left.why) for job, left in answer.left.items()}


async def test_a_job_is_claimed_by_its_id_whatever_stands_before_it(store: Store) -> None:
    """S2.37, S2.38: one atomic update that matches the job; the others stay in line."""
    before, job = await enqueue_one(store, priority=5), await enqueue_one(store)

    answer = await claim_these(store, [job])

    assert (taken(answer), answer.left) == ([job], {})
    assert (await state_of(store, job), await state_of(store, before)) == (State.RUNNING, State.QUEUED)
    assert [one.lease.job for one in await claim(store)] == [before]


async def test_the_claim_is_the_same_as_any_other(store: Store, clock: Clock) -> None:
    """S2.25: what it hands out and what it leaves on record does not differ from the ordinary claim."""
    one, two = await enqueue_one(store, tags=("x",)), await enqueue_one(store, tags=("x",))
    now = await clock.advance(seconds(2))

    [ordinary] = await claim(store, limit=1)
    [by_id] = (await claim_these(store, [two])).claimed

    assert ordinary.lease.job == one
    assert by_id.lease.fence > ordinary.lease.fence
    for name in set(by_id.__struct_fields__) - {"lease", "queued_at"}:
        assert getattr(by_id, name) == getattr(ordinary, name)
    first, second = await found(store, one), await found(store, two)
    assert (second.worker, second.started_at, second.lease_expires_at) == ("a", now, now + seconds(30))
    assert (first.attempt, first.events) == (second.attempt, second.events)
    assert (await settle(store, [succeeded(by_id)])).lost == []


async def test_a_second_message_for_a_job_leads_to_nothing(store: Store) -> None:
    """S2.31, S2.40: a duplicate finds it owned and changes nothing, whoever holds it."""
    job = await enqueue_one(store)
    await claim_these(store, [job])
    before = await record_of(store, job)

    assert why(await claim_these(store, [job])) == {job: "owned"}
    assert why(await claim_these(store, [job], worker="b")) == {job: "owned"}
    assert await record_of(store, job) == before


async def test_an_id_given_twice_is_claimed_once(store: Store) -> None:
    job = await enqueue_one(store)
    answer = await claim_these(store, [job, job])
    assert (taken(answer), answer.left) == ([job], {})


async def test_a_job_in_no_state_to_be_claimed_is_left_as_it_is(store: Store) -> None:
    """S2.36, S2.41: of one job in each state only the queued one is claimed."""
    jobs = await one_in_each_state(store)
    lines = tuple(Line("default", str(state)) for state in State)
    before = {state: await record_of(store, job) for state, job in jobs.items()}

    answer = await claim_these(store, jobs.values(), lines=lines)

    assert taken(answer) == [jobs[State.QUEUED]]
    told = {state: why(answer)[job] for state, job in jobs.items() if state is not State.QUEUED}
    assert told == {
        **dict.fromkeys(FINAL, "finished"),
        **dict.fromkeys((State.RUNNING, State.CANCELLING), "owned"),
        **dict.fromkeys((State.CREATED, State.SCHEDULED, State.RETRYING, State.SUSPENDED), "not-due"),
    }
    for state in told:
        assert await record_of(store, jobs[state]) == before[state]


async def test_a_retry_that_is_due_is_promoted_and_claimed(store: Store, clock: Clock) -> None:
    """S2.14: `retrying`, whose time has come, needs no duty before the message."""
    job = await enqueue_one(store)
    await settle(store, [recoverable(one, after=seconds(5)) for one in await claim(store)])
    await clock.advance(seconds(5))

    [claimed] = (await claim_these(store, [job])).claimed

    assert (claimed.lease.job, claimed.attempt) == (job, 2)
    assert await path_of(store, job) == ["queued", "started", "retrying", "queued", "started"]
    assert await store.promote(10) == []


async def test_others_that_are_due_are_left_to_the_duty(store: Store, clock: Clock) -> None:
    job, other = [await enqueue_one(store, delay=seconds(5)) for _ in range(2)]
    await clock.advance(seconds(5))

    assert taken(await claim_these(store, [job])) == [job]
    assert await state_of(store, other) is State.SCHEDULED
    assert [one.job for one in await store.promote(10)] == [other]


async def test_a_job_whose_lease_has_run_out_is_reaped_and_claimed(store: Store, clock: Clock) -> None:
    """S2.34, S2.35: taken from its owner when the lease is over, and not a moment before."""
    job = await enqueue_one(store)
    [old] = await claim(store, worker="a", lease_for=seconds(30))
    await clock.advance(seconds(29))
    assert why(await claim_these(store, [job], worker="b")) == {job: "owned"}
    await clock.advance(seconds(1))

    [new] = (await claim_these(store, [job], worker="b")).claimed

    assert new.lease.fence > old.lease.fence
    assert new.attempt == 2
    assert await path_of(store, job) == ["queued", "started", "orphaned", "started"]
    assert (await settle(store, [succeeded(old)])).lost == [old.lease]
    assert (await settle(store, [succeeded(new)], worker="b")).lost == []


async def test_the_queued_the_due_and_the_lost_are_claimed_by_one_message_each(
    store: Store, clock: Clock
) -> None:
    """C12: as the ordinary claim finds them after its duties; what is not yet due is left."""
    due, lost, early = [await enqueue_one(store) for _ in range(3)]
    for job, after in ((due, seconds(30)), (early, seconds(31))):
        [claimed] = (await claim_these(store, [job])).claimed
        await settle(store, [recoverable(claimed, after=after)])
    await claim_these(store, [lost])
    queued = await enqueue_one(store)
    await clock.advance(seconds(30))

    answer = await claim_these(store, [queued, due, lost, early])

    assert sorted(taken(answer)) == sorted([queued, due, lost])
    assert why(answer) == {early: "not-due"}


async def test_a_lease_that_has_run_out_is_reaped_for_the_jobs_named_alone(
    store: Store, backend: Backend, clock: Clock
) -> None:
    """The others of the same claim are found by the reaper, once each."""
    jobs = [await enqueue_one(store) for _ in range(3)]
    await claim(store)
    await clock.advance(seconds(30))

    assert taken(await claim_these(store, jobs[:1], worker="b")) == jobs[:1]

    assert [await state_of(store, job) for job in jobs] == [State.RUNNING] * 3
    assert {one.job for one in await store.reap(10)} == set(jobs[1:])
    assert await store.reap(10) == []
    assert await count(backend, "tenure.lease") == 1


async def test_reaping_may_end_the_job(store: Store, clock: Clock) -> None:
    """As ever: what must not run twice is buried, what has no attempt left fails, what is cancelled ends."""
    once = await enqueue_one(store, policy=Policy(max_attempts=1))
    bury = await enqueue_one(store, policy=Policy(on_lost=OnLost.BURY))
    stopped = await enqueue_one(store)
    await claim(store)
    await store.cancel([stopped])
    await clock.advance(seconds(30))

    answer = await claim_these(store, [once, bury, stopped])

    assert why(answer) == dict.fromkeys((once, bury, stopped), "finished")
    ended = [await state_of(store, job) for job in (once, bury, stopped)]
    assert ended == [State.FAILED, State.BURIED, State.CANCELLED]
    assert [await count_attempts(store, job) for job in (once, bury, stopped)] == [1, 1, 1]


async def count_attempts(store: Store, job: UUID) -> int:
    return len(await store.attempts(job))


async def test_a_given_up_retry_ends_as_it_would_have(store: Store, clock: Clock) -> None:
    """S2.29, S2.15: a message does not revive it."""
    job = await enqueue_one(store)
    await settle(store, [recoverable(one) for one in await claim(store)])
    await store.give_up([job])

    assert why(await claim_these(store, [job])) == {job: "finished"}
    assert await state_of(store, job) is State.FAILED


async def test_nothing_is_claimed_from_a_paused_line(store: Store) -> None:
    """The answer says where the job stands, so that its worker may look there after the resume."""
    job = await enqueue_one(store)
    await store.pause(MAIL)

    left = (await claim_these(store, [job])).left[job]
    assert (left.why, left.line) == (WhyUnclaimed.PAUSED, MAIL)

    await store.resume(MAIL)
    assert taken(await claim_these(store, [job])) == [job]


async def test_jobs_under_limits_are_left_to_the_ordinary_claim(store: Store) -> None:
    """Only that counts what runs; the sum of both never passes the limit."""
    jobs = [await enqueue_one(store, limits=(Limit("db", size=1),)) for _ in range(2)]

    assert why(await claim_these(store, jobs)) == dict.fromkeys(jobs, "limited")
    assert len(await claim(store)) == 1


async def test_a_line_that_is_not_asked_for_is_not_served(store: Store) -> None:
    job = await enqueue_one(store, "post")
    left = (await claim_these(store, [job])).left[job]
    assert (left.why, left.line) == (WhyUnclaimed.UNSERVED, Line("default", "post"))
    assert why(await claim_these(store, [job], lines=())) == {job: "unserved"}


async def test_an_unknown_id_is_named_as_such(store: Store) -> None:
    nobody = uuid4()
    job = await enqueue_one(store)
    answer = await claim_these(store, [nobody, job])
    assert (taken(answer), why(answer)) == ([job], {nobody: "unknown"})


async def test_nothing_asked_is_nothing_answered(store: Store) -> None:
    await enqueue_one(store)
    answer = await claim_these(store, [])
    assert (list(answer.claimed), answer.left) == ([], {})


async def test_more_ids_than_the_order_claims_are_refused(store: Store) -> None:
    order = Order(worker="a", lines=(MAIL,), limit=1)
    with pytest.raises(InvalidInput, match="ids"):
        await store.claim_these(order, [uuid4(), uuid4()])


async def test_a_job_that_the_database_refuses_does_not_hold_up_the_others(
    store: Store, backend: Backend
) -> None:
    """It stays as it is; the ordinary claim puts it aside, and from then on it is said to be there."""
    bad, good = await enqueue_one(store, key="bad"), await enqueue_one(store)
    await spoil_next_event(backend, "bad")

    answer = await claim_these(store, [bad, good])
    assert (taken(answer), why(answer)) == ([good], {bad: "aside"})

    await step_over_spoilt_event(backend, "bad")
    assert taken(await claim_these(store, [bad])) == [bad]


async def test_a_job_that_is_aside_is_not_claimed(store: Store, backend: Backend) -> None:
    bad = await enqueue_one(store, key="bad")
    await spoil_next_event(backend, "bad")
    with pytest.raises(Exception, match="aside"):
        await claim(store)

    assert why(await claim_these(store, [bad])) == {bad: "aside"}
    await step_over_spoilt_event(backend, "bad")
    await store.put_back(bad)
    assert taken(await claim_these(store, [bad])) == [bad]


async def test_the_totals_of_lines_follow(store: Store) -> None:
    jobs = [await enqueue_one(store) for _ in range(2)] + [await enqueue_one(store, "post")]
    post = Line("default", "post")
    await claim_these(store, [jobs[0], jobs[2]], lines=(MAIL, post))
    counts = {one.line: one.counts for one in await store.lines()}
    assert counts[MAIL] == {State.QUEUED: 1, State.RUNNING: 1}
    assert counts[post] == {State.RUNNING: 1}
