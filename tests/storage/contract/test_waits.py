"""What jobs wait for, and waits without end beside the verbs that know times alone."""

from datetime import timedelta

import pytest

from tenure.core.model.durable import Delivered
from tenure.core.model.lease import Line, Order, Progress, Pulse
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import Retention
from tenure.core.values.bounds import MOST_HAND_BACKS
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.durable_verbs import (
    done,
    for_answer,
    for_signal,
    held,
    held_again,
    intended,
    keep,
    sleep,
    statuses,
    suspend,
    suspended_for,
    tell,
)
from tests.storage.verbs import (
    MAIL,
    claim,
    count,
    enqueue_one,
    found,
    listed,
    seconds,
    settle,
    state_of,
    succeeded,
)

DURABLE = ("step", "kept", "checkpoint", "wait", "signal")
AT_ONCE = Retention(succeeded=seconds(0), others=seconds(0), keyed=seconds(0))


async def test_a_wait_without_end_is_no_work_to_come(store: Store) -> None:
    """An idle worker does not look at it again and again."""
    await suspended_for(store, for_signal())
    assert (await store.outlook([MAIL])).next_timer is None
    assert await store.promote(10) == []
    await suspended_for(store, for_signal(timeout=seconds(60)))
    assert (await store.outlook([MAIL])).next_timer is not None


@pytest.mark.parametrize("wait", [for_signal(), for_signal(timeout=timedelta(seconds=60)), sleep()])
async def test_a_suspended_job_is_cancelled_at_once(store: Store, backend: Backend, wait: object) -> None:
    lease = await held(store)
    assert await suspend(store, lease, wait) is State.SUSPENDED  # type: ignore[arg-type]
    await store.cancel([lease.job])
    assert await state_of(store, lease.job) is State.CANCELLED
    assert await count(backend, "tenure.timer") == 0
    assert await count(backend, "tenure.wait") == 0
    assert (await tell(store, lease.job)).delivered is Delivered.FINISHED


async def test_suspended_jobs_are_listed_whatever_they_wait_for(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, intended())
    await suspend(store, lease, for_answer())
    others = [await suspended_for(store, wait) for wait in (for_signal(), sleep())]
    found_there = await listed(store, Filter(states=frozenset({State.SUSPENDED})), newest_first=False)
    assert [job.id for job in found_there] == [lease.job, *others]


async def test_progress_stays_while_a_job_waits(store: Store, backend: Backend) -> None:
    """S0.2, S0.7: a job that sleeps between its parts does not fall back."""
    lease = await held(store)
    await backend.sql("UPDATE tenure.job_state SET progress = '{\"fraction\":0.4}'")
    await suspend(store, lease, for_signal())
    before = (await found(store, lease.job)).progress
    assert before is not None
    await tell(store, lease.job)
    assert (await found(store, lease.job)).progress == before
    await held_again(store)
    assert (await found(store, lease.job)).progress == before


async def test_progress_of_a_job_that_never_waited_begins_anew(store: Store, backend: Backend) -> None:
    lease = await held(store)
    await backend.sql("UPDATE tenure.job_state SET progress = '{\"fraction\":0.4}'")
    await store.hand_back("a", unstarted=[], killed=[lease])
    await held_again(store)
    assert (await found(store, lease.job)).progress is None


async def test_giving_back_an_attempt_that_got_on_does_not_count(store: Store) -> None:
    """A job of many steps outlasts more deploys than one of none."""
    lease = await held(store)
    for number in range(MOST_HAND_BACKS + 5):
        await keep(store, lease, done(f"{number}"))
        settled = await store.hand_back("a", unstarted=[], killed=[lease])
        assert settled.accepted == {lease: State.QUEUED}
        [again] = await claim(store)
        assert again.attempt == 1
        lease = again.lease
    assert (await found(store, lease.job)).hand_backs == 0
    await store.hand_back("a", unstarted=[], killed=[lease])
    assert (await found(store, lease.job)).hand_backs == 1


async def test_all_that_was_kept_goes_with_its_job(store: Store, backend: Backend) -> None:
    await keep(store, await held(store), done())
    lease = await held(store)
    await suspend(store, lease, for_signal(timeout=seconds(5)))
    await backend.clock.advance(seconds(5))
    await store.promote(10)
    lease = await held_again(store)
    await keep(store, lease, done())
    await store.save_checkpoints("a", [(lease, Document("1"))])
    await tell(store, lease.job)
    assert [await count(backend, f"tenure.{table}") for table in DURABLE] == [3, 2, 1, 1, 1]
    await settle(store, [succeeded(lease)])

    assert (await store.prune(AT_ONCE)).jobs == 1

    assert [await count(backend, f"tenure.{table}") for table in DURABLE] == [1, 1, 0, 0, 0]


@pytest.mark.parametrize("wait", [for_signal(), for_signal(timeout=timedelta(seconds=60))])
async def test_a_waiting_job_that_lost_its_timer_is_found_and_mended(
    store: Store, backend: Backend, wait: object
) -> None:
    lease = await held(store)
    await suspend(store, lease, wait)  # type: ignore[arg-type]
    before = await backend.sql("SELECT * FROM tenure.timer")
    assert await store.inspect() == []
    assert (await store.inspect_jobs()).findings == []
    await backend.sql("DELETE FROM tenure.timer")
    assert [finding.kind for finding in await store.inspect()] == ["no_timer"]
    assert [finding.kind for finding in (await store.inspect_jobs()).findings] == ["no_timer"]

    mended = await store.mend_timer(lease.job)

    assert mended is not None
    assert mended.moved
    assert await backend.sql("SELECT * FROM tenure.timer") == before
    assert await store.inspect() == []
    assert (await tell(store, lease.job)).delivered is Delivered.RESUMED


async def test_a_job_that_waits_for_nothing_known_is_found_and_goes_on(
    store: Store, backend: Backend
) -> None:
    job = await suspended_for(store, for_signal())
    await backend.sql("DELETE FROM tenure.wait")
    assert [finding.kind for finding in await store.inspect()] == ["no_timer"]
    assert [finding.kind for finding in (await store.inspect_jobs()).findings] == ["no_timer"]
    await store.mend_timer(job)
    assert await store.inspect() == []
    assert [moved.job for moved in await store.promote(10)] == [job]


async def test_steps_are_read_in_pages(store: Store) -> None:
    lease = await held(store)
    await keep(store, lease, *(done(name) for name in ("z", "a", "m")))
    assert [step.name for step in await store.steps(lease.job, limit=2)] == ["z", "a"]
    assert [step.name for step in await store.steps(lease.job, after="a")] == ["m"]
    assert await store.steps(lease.job, after="m") == []
    assert await store.count_steps(lease.job) == 3
    assert await store.count_steps(await enqueue_one(store)) == 0


async def test_a_job_that_is_claimed_by_its_id_keeps_its_progress_too(store: Store, clock: Clock) -> None:
    lease = await held(store)
    await store.heartbeat(Pulse(worker="a", leases=[lease], progress={lease: Progress(0.5)}))
    await suspend(store, lease, sleep(seconds(5)))
    await clock.advance(seconds(5))
    await store.promote(10)
    await store.claim_these(Order(worker="a", lines=(Line("default", "mail"),), limit=1), [lease.job])
    assert (await found(store, lease.job)).progress == Progress(0.5)
    assert await statuses(store, lease.job) == {"sleep:a": "waiting"}
