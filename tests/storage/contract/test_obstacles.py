"""`obstacles`: what may keep one job from running, read at one moment and in bounded parts."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.lease import Line, Order, Pulse
from tenure.core.model.limit import Limit, LimitUse
from tenure.core.model.states import State
from tenure.core.reports.failures import MOST_COUNTED, Count
from tenure.core.reports.obstacles import LiveWorkers, Obstacles
from tenure.core.reports.operations import PauseScope, WorkerInfo
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import (
    BOOM,
    MAIL,
    claim,
    enqueue_one,
    found,
    job_in,
    one_in_each_state,
    recoverable,
    seconds,
    settle,
    succeeded,
)

ONE = Limit("api", "", 1)


async def obstacles(store: Store, job: UUID) -> Obstacles:
    """Those of a job that exists."""
    looked = await store.obstacles(job)
    assert looked is not None
    return looked


async def worker(store: Store, id_: str = "a", *, ready: bool | None = True, **info: Any) -> None:
    """A live worker; with `ready` as None it has sent no heartbeat yet."""
    given = {"id": id_, "host": "here", "pid": 7, "version": "1", "slots": 4, "lines": (MAIL,), **info}
    await store.enlist(WorkerInfo(**given))
    if ready is not None:
        await store.heartbeat(Pulse(worker=id_, leases=[], ready=ready))


async def test_an_unknown_job_has_no_obstacles(store: Store) -> None:
    assert await store.obstacles(uuid4()) is None


async def test_the_job_is_told_of_as_it_stands(store: Store) -> None:
    """In every state, and placed where its state needs it to be."""
    for state, job in (await one_in_each_state(store)).items():
        looked = await obstacles(store, job)
        whole = await found(store, job)
        assert looked.job.state is state
        assert (looked.job.due_at, looked.error, looked.worker) == (whole.due_at, whole.error, whole.worker)
        assert (looked.lease_expires_at, looked.failures) == (whole.lease_expires_at, whole.failures)
        assert (looked.now, looked.is_placed, looked.aside) == (START, True, None)
        assert looked.cancel_requested_at == whole.cancel_requested_at
        assert looked.grace == whole.policy.grace


async def test_nothing_is_in_the_way_of_a_job_in_an_empty_store(store: Store) -> None:
    looked = await obstacles(store, await enqueue_one(store))
    assert (looked.pauses, looked.limits, looked.ahead) == ([], [], Count(0))
    assert looked.workers == LiveWorkers(queues=[], versions=[])
    assert (looked.upkeep_at, looked.overdue_at) == (None, None)


@pytest.mark.parametrize(
    ("state", "table"),
    [
        (State.QUEUED, "ready"),
        (State.SCHEDULED, "timer"),
        (State.RETRYING, "timer"),
        (State.SUSPENDED, "timer"),
        (State.RUNNING, "lease"),
        (State.CANCELLING, "lease"),
    ],
)
async def test_a_job_whose_rows_were_deleted_by_hand_is_not_placed(
    store: Store, backend: Backend, state: State, table: str
) -> None:
    job = await job_in(store, state)
    await backend.sql(f"DELETE FROM tenure.{table}")
    assert not (await obstacles(store, job)).is_placed


async def test_the_pauses_that_hold_its_line_are_told_the_narrowest_first(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    end = START + timedelta(hours=1, microseconds=1)
    await store.pause(PauseScope("default"), by="ann", reason="rain")
    await store.pause(PauseScope(definition="mail"), until=end)
    await store.pause(PauseScope("", "mail", 1))
    await store.pause(PauseScope("default", "mail", 2))
    await store.pause(PauseScope("slow"))
    held = (await obstacles(store, job)).pauses
    expected = [PauseScope("", "mail", 1), PauseScope(definition="mail"), PauseScope("default")]
    assert [pause.scope for pause in held] == expected
    assert [(pause.at, pause.until, pause.by, pause.reason) for pause in held] == [
        (START, None, "api", None),
        (START, end, "api", None),
        (START, None, "ann", "rain"),
    ]
    await clock.advance(timedelta(hours=1, microseconds=1))
    assert len((await obstacles(store, job)).pauses) == 2


async def test_a_full_limit_names_the_jobs_that_run_under_it(store: Store) -> None:
    """With the namespace of each, so that names can be kept from those who may not know them."""
    first = await enqueue_one(store, limits=(ONE,), namespace="acme")
    waiting = await enqueue_one(store, "post", limits=(ONE,))
    [standing] = (await obstacles(store, waiting)).limits
    assert (standing.use, standing.holders, standing.is_full) == (LimitUse("api", "", 1, 0), [], False)
    await claim(store, "b", limit=1)
    [standing] = (await obstacles(store, waiting)).limits
    assert (standing.use, standing.is_full) == (LimitUse("api", "", 1, 1), True)
    [holder] = standing.holders
    assert (holder.job, holder.definition, holder.version, holder.namespace) == (first, "mail", 1, "acme")
    assert (holder.worker, holder.since) == ("b", START)


async def test_a_settled_job_that_its_lease_still_names_holds_nothing(store: Store) -> None:
    """The lease of a batch is left as it is until its last job has ended."""
    limit = Limit("api", "", 2)
    for _ in range(3):
        await enqueue_one(store, limits=(limit,))
    done, running = await claim(store, limit=2)
    await settle(store, [succeeded(done)])
    [late] = await claim(store, limit=1)
    waiting = await enqueue_one(store, limits=(limit,))
    [standing] = (await obstacles(store, waiting)).limits
    assert {holder.job for holder in standing.holders} == {running.lease.job, late.lease.job}


async def test_each_key_of_a_limit_is_looked_at_by_itself_and_ten_holders_are_named(store: Store) -> None:
    for _ in range(12):
        await enqueue_one(store, limits=(Limit("api", "big", 12),))
    await claim(store, limit=12)
    await store.set_limit("api", 11)
    full = await enqueue_one(store, limits=(Limit("api", "big", 12), Limit("disk", "", 5)))
    other = await enqueue_one(store, limits=(Limit("api", "small", 12),))
    api, disk = (await obstacles(store, full)).limits
    assert (api.use.held, api.use.size, len(api.holders)) == (12, 11, 10)
    assert (disk.use.name, disk.use.held, disk.holders) == ("disk", 0, [])
    assert [one.use.held for one in (await obstacles(store, other)).limits] == [0]


async def test_the_jobs_before_it_in_its_own_line_are_counted(store: Store) -> None:
    """Of a higher priority, or of its own and earlier; of no other line."""
    await enqueue_one(store, "post", priority=5)
    await enqueue_one(store, limits=(ONE,))
    await enqueue_one(store)
    await enqueue_one(store, priority=5)
    job = await enqueue_one(store)
    await enqueue_one(store)
    await enqueue_one(store, priority=-5)
    assert (await obstacles(store, job)).ahead == Count(2)
    await claim(store, limit=1)
    assert (await obstacles(store, job)).ahead == Count(1)
    assert (await obstacles(store, await job_in(store, State.RUNNING))).ahead == Count(0)


async def test_places_are_counted_up_to_a_bound(store: Store, backend: Backend) -> None:
    job = await enqueue_one(store)
    values = ", ".join(f"(1, -1, {n}, '{uuid4()}')" for n in range(MOST_COUNTED))
    await backend.sql(f"INSERT INTO tenure.ready (line, rank, seq, job) VALUES {values}")
    assert (await obstacles(store, job)).ahead == Count(MOST_COUNTED)
    await backend.sql(f"INSERT INTO tenure.ready (line, rank, seq, job) VALUES (1, -2, 0, '{uuid4()}')")
    assert (await obstacles(store, job)).ahead == Count(MOST_COUNTED, is_more=True)


async def test_live_workers_of_its_line_are_counted_by_what_they_can_do(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store, priority=-1)
    await worker(store, "gone")
    await clock.advance(seconds(36))
    await worker(store, "new", ready=None)
    await worker(store, "sick", ready=False)
    await worker(store, "off")
    await store.drain("off")
    await worker(store, "fit")
    await worker(store, "full", slots=1, lines=(MAIL, MAIL, Line("slow", "mail"), Line("default", "mail", 3)))
    elsewhere = (Line("fast", "mail"), Line("default", "post"), Line("slow", "mail", 9))
    await worker(store, "else", lines=elsewhere)
    for _ in range(3):
        await enqueue_one(store)
    done, _ = await claim(store, "full", limit=2)
    await settle(store, [succeeded(done)], "full")
    await claim(store, "fit", limit=1)
    assert (await obstacles(store, job)).workers == LiveWorkers(
        in_all=6, serving=5, draining=1, ready=2, slots=5, free=3, queues=["fast", "slow"], versions=[3]
    )


async def test_a_worker_that_holds_more_than_its_slots_has_none_to_lend(store: Store) -> None:
    """It claims ahead: what it holds beyond its slots takes nothing from others."""
    await worker(store, "a", slots=1)
    await worker(store, "b", slots=2)
    for _ in range(4):
        await enqueue_one(store)
    job = await enqueue_one(store)
    await claim(store, "a", limit=4)
    assert (await obstacles(store, job)).workers.free == 2


async def test_signs_of_upkeep_are_its_last_minute_and_what_it_left(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    await enqueue_one(store, delay=seconds(60))
    await store.note_pace(waits={}, runs={})
    looked = await obstacles(store, job)
    assert (looked.upkeep_at, looked.overdue_at) == (START, None)
    await clock.advance(seconds(60))
    assert (await obstacles(store, job)).overdue_at == START + seconds(60)
    await store.promote(10)
    assert (await obstacles(store, job)).overdue_at is None


async def test_the_last_error_is_told(store: Store) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [recoverable(owned)])
    looked = await obstacles(store, job)
    assert (looked.error, looked.failures, looked.job.due_at) == (BOOM, 1, START + seconds(5))


async def test_why_a_job_is_aside_is_told_and_it_holds_no_limit(store: Store, backend: Backend) -> None:
    guilty = await enqueue_one(store, limits=(ONE,))
    [owned] = await claim(store, limit=1)
    await damaged_rows.next_event(backend.address, guilty)
    with pytest.raises(JobsAside) as met:
        await store.settle_and_claim([succeeded(owned)], Order(worker="a", lines=(), limit=0))
    looked = await obstacles(store, guilty)
    [aside] = met.value.asides
    assert looked.aside is not None
    assert (looked.aside.verb, looked.aside.code, looked.aside.text) == ("settle", aside.code, aside.text)
    assert looked.job.aside_at == START
    assert looked.limits == [], "only one that waits is kept by a limit"
    waiting = await enqueue_one(store, limits=(ONE,))
    assert [one.is_full for one in (await obstacles(store, waiting)).limits] == [False]
