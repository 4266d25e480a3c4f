"""Suspending: a job gives its slot back until what it waits for has come; no attempt is lost by that."""

from datetime import timedelta

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.durable import OpenWait, StepKind, StepStatus, Suspension, Wait, WaitKind
from tenure.core.model.lease import Lease, Line
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.model.trail import Usage
from tenure.core.reports.operations import Definition
from tenure.core.values import fingerprint
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    approval,
    done,
    for_answer,
    for_signal,
    held,
    held_again,
    in_doubt,
    intended,
    keep,
    kept,
    say,
    sleep,
    statuses,
    suspend,
    suspended_for,
    tell,
)
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    found,
    hold_together,
    path_of,
    record_of,
    recoverable,
    seconds,
    settle,
    state_of,
    succeeded,
)

WAITS = {
    "time": sleep(),
    "signal": for_signal(),
    "signal for a while": for_signal(timeout=timedelta(seconds=60)),
    "answer": for_answer(),
}


async def _asleep(store: Store, wait: Wait) -> Lease:
    """A job that is suspended under a wait; an effect of it is in doubt."""
    lease = await held(store)
    await keep(store, lease, intended())
    assert await suspend(store, lease, wait) is State.SUSPENDED
    return lease


@pytest.mark.parametrize("way", WAITS)
async def test_a_suspended_job_is_owned_by_nobody_and_loses_no_attempt(
    store: Store, clock: Clock, way: str
) -> None:
    """It holds no slot while it waits."""
    wait = WAITS[way]
    lease = await _asleep(store, wait)

    job = await found(store, lease.job)
    assert (job.state, job.attempt, job.suspensions, job.worker) == (State.SUSPENDED, 0, 1, None)
    assert job.due_at == (None if wait.timeout is None else clock.now + wait.timeout)
    assert hold_together(await store.events(lease.job))
    assert await path_of(store, lease.job) == ["queued", "started", "suspended"]
    [attempt] = await store.attempts(lease.job)
    assert (attempt.ending, attempt.error) == (Ending.SUSPENDED, None)
    assert await claim(store) == []
    expected = OpenWait(
        job=lease.job, kind=wait.kind, step=wait.step, since=clock.now, signal=wait.signal, until=job.due_at
    )
    assert await store.open_waits([lease.job]) == {lease.job: expected}


async def test_what_an_attempt_used_is_kept(store: Store) -> None:
    lease = await held(store)
    usage = Usage(exit_code=0, cpu=seconds(2), peak_memory=1024)
    await store.suspend("a", [Suspension(lease, sleep(), usage)])
    [attempt] = await store.attempts(lease.job)
    assert attempt.usage == usage


async def test_a_sleep_ends_by_the_clock(store: Store, clock: Clock) -> None:
    """The handler runs again, and finds that it has slept."""
    lease = await held(store)
    await suspend(store, lease, sleep(seconds(60)))
    await clock.advance(seconds(59))
    assert await store.promote(10) == []
    await clock.advance(seconds(1))
    await store.promote(10)
    [again] = await claim(store)
    assert (again.lease.job, again.attempt) == (lease.job, 1)
    assert await path_of(store, lease.job) == ["queued", "started", "suspended", "resumed", "started"]
    assert await store.open_waits([lease.job]) == {}
    assert (await settle(store, [succeeded(again)])).lost == []


async def test_the_step_of_a_wait_is_kept_with_its_end(store: Store, clock: Clock) -> None:
    job = await suspended_for(store, sleep(seconds(60), "sleep:a"))
    [step] = await kept(store, job)
    assert (step.name, step.kind, step.status) == ("sleep:a", StepKind.SLEEP, StepStatus.WAITING)
    assert (step.until, step.at, step.body) == (clock.now + seconds(60), clock.now, None)
    job = await suspended_for(store, for_signal())
    [step] = await kept(store, job)
    assert (step.kind, step.status, step.until) == (StepKind.WAIT, StepStatus.WAITING, None)


async def test_a_wait_that_was_kept_before_ends_when_it_said_first(store: Store, clock: Clock) -> None:
    """A handler that sleeps sixty seconds and is woken by something else does not sleep anew."""
    lease = await held(store)
    began = clock.now
    await suspend(store, lease, for_signal(timeout=seconds(60)))
    await clock.advance(seconds(60))
    await store.promote(10)
    again = await held_again(store)
    assert await suspend(store, again, for_signal(timeout=seconds(60))) is State.SUSPENDED
    assert (await found(store, lease.job)).due_at == began + seconds(60)
    assert [step.until for step in await kept(store, lease.job)] == [began + seconds(60)]
    assert len(await store.promote(10)) == 1


async def test_a_wait_whose_step_is_finished_is_over(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, done("sleep:a", None, kind=StepKind.SLEEP))
    assert await suspend(store, lease, sleep(step="sleep:a")) is State.SUSPENDED
    assert len(await store.promote(10)) == 1


async def test_a_signal_that_came_before_resumes_at_once(store: Store) -> None:
    lease = await held(store)
    await tell(store, lease.job)
    assert await suspend(store, lease, for_signal()) is State.QUEUED
    events = await store.events(lease.job)
    assert [event.type for event in events] == ["queued", "started", "suspended", "resumed"]
    assert events[-1].actor == "a"
    assert hold_together(events)
    [again] = await claim(store)
    assert again.attempt == 1
    assert await store.open_waits([lease.job]) == {}


async def test_an_answer_that_came_before_resumes_at_once(store: Store, backend: Backend) -> None:
    job = await in_doubt(store, backend)
    lease = await held_again(store)
    await say(store, job)
    assert await suspend(store, lease, for_answer()) is State.QUEUED
    assert await statuses(store, job) == {"charge": "done"}


async def test_another_signal_resumes_nothing(store: Store) -> None:
    lease = await held(store)
    await tell(store, lease.job, approval(name="other"))
    assert await suspend(store, lease, for_signal()) is State.SUSPENDED


async def test_waiting_for_an_answer_about_nothing_in_doubt_is_over_at_once(store: Store) -> None:
    """Else nobody could ever answer."""
    lease = await held(store)
    assert await suspend(store, lease, for_answer()) is State.QUEUED


async def test_what_was_lost_is_not_suspended(store: Store, clock: Clock) -> None:
    """S0.14, S0.61: only the owner, and only while its lease holds."""
    lease = await held(store, worker="a")
    before = await record_of(store, lease.job)
    assert await suspend(store, lease, sleep(), worker="b") is None
    assert await suspend(store, Lease(lease.job, lease.fence + 1), sleep()) is None
    assert await record_of(store, lease.job) == before
    await clock.advance(seconds(30))
    assert await suspend(store, lease, sleep()) is None
    assert await kept(store, lease.job) == []


async def test_many_are_suspended_in_one_call(store: Store) -> None:
    jobs = [await enqueue_one(store) for _ in range(5)]
    leases = [claimed.lease for claimed in await claim(store)]
    await tell(store, jobs[1])
    gone = Lease(jobs[2], leases[2].fence + 1)
    given = [leases[0], leases[1], gone, leases[3], leases[3]]

    answer = await store.suspend("a", [Suspension(lease, for_signal()) for lease in given])

    assert answer == {leases[0]: State.SUSPENDED, leases[1]: State.QUEUED, leases[3]: State.SUSPENDED}
    assert [await state_of(store, job) for job in jobs[2::2]] == [State.RUNNING] * 2


async def test_a_job_that_is_asked_to_stop_is_cancelled_instead(store: Store) -> None:
    lease = await held(store)
    await store.cancel([lease.job])
    assert await suspend(store, lease, for_signal()) is State.CANCELLED
    job = await found(store, lease.job)
    assert (job.state, job.finished_at is not None, job.attempt) == (State.CANCELLED, True, 1)
    assert await store.open_waits([lease.job]) == {}
    assert await kept(store, lease.job) == []


async def test_a_job_is_suspended_only_so_often(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await backend.sql(f"UPDATE tenure.job_state SET suspensions = {MOST_SUSPENSIONS}")
    assert await suspend(store, lease, sleep()) is State.FAILED
    job = await found(store, lease.job)
    assert job.error == Failure("SuspendedTooOften", "it was suspended too often")
    assert (job.failures, job.attempt) == (1, 1)
    [group] = (await store.dead_letters()).groups
    assert group.fingerprint == fingerprint.of("mail", job.error)


async def test_its_places_under_limits_are_free_again(store: Store) -> None:
    """What waits takes no room from what could run."""
    limits = (Limit("api", "k", 1),)
    await enqueue_one(store, limits=limits)
    second = await enqueue_one(store, limits=limits)
    [first] = await claim(store)
    assert await claim(store) == []
    assert await suspend(store, first.lease, for_signal()) is State.SUSPENDED
    [next_one] = await claim(store)
    assert next_one.lease.job == second


async def test_hand_backs_start_anew(store: Store) -> None:
    """A flow of weeks and many deploys does not fail because workers gave it back."""
    lease = await held(store)
    await store.hand_back("a", unstarted=[lease], killed=[])
    lease = await held_again(store)
    assert (await found(store, lease.job)).hand_backs == 1
    await suspend(store, lease, sleep())
    assert (await found(store, lease.job)).hand_backs == 0


async def test_a_job_that_ends_so_has_its_hooks_run_by_somebody(store: Store) -> None:
    hooked = Definition(key="mail", version=1, spec=Document('{"hooks":["on_cancel"]}'))
    await store.put_definitions([hooked])
    lease = await held(store)
    await store.cancel([lease.job])
    await suspend(store, lease, sleep())
    assert await store.follow_up([Line("default", "mail")], 10) == [lease.job]


async def test_the_totals_of_states_follow(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await suspend(store, lease, for_signal())
    assert await _totals(backend) == {"suspended": 1}
    await tell(store, lease.job)
    assert await _totals(backend) == {"queued": 1}
    assert await count(backend, "tenure.timer") == 0


async def test_an_attempt_of_a_job_that_has_slept_may_still_fail(store: Store, clock: Clock) -> None:
    """What is refunded is the attempt that was suspended, and no other."""
    lease = await held(store)
    await suspend(store, lease, for_signal())
    await tell(store, lease.job)
    [again] = await claim(store)
    await settle(store, [recoverable(again)])
    await clock.advance(seconds(5))
    await store.promote(10)
    [third] = await claim(store)
    assert third.attempt == 2


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"kind": WaitKind.SIGNAL, "step": "s"}, "signal"),
        ({"kind": WaitKind.TIME, "step": "s", "timeout": seconds(1), "signal": "x"}, "signal"),
        ({"kind": WaitKind.TIME, "step": "s"}, "timeout"),
        ({"kind": WaitKind.ANSWER, "step": "s", "timeout": seconds(-1)}, "timeout"),
        ({"kind": WaitKind.ANSWER, "step": "a/b"}, "step"),
    ],
)
async def test_waits_that_make_no_sense_are_refused(terms: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        Wait(**terms)  # type: ignore[arg-type]


async def test_nothing_to_suspend_is_no_error(store: Store) -> None:
    assert await store.suspend("a", []) == {}


async def _totals(backend: Backend) -> dict[str, int]:
    rows = await backend.sql("SELECT state, sum(n) FROM tenure.tally GROUP BY state")
    return {str(state): int(n) for state, n in rows if n}
