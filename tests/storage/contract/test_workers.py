"""Workers as operators see them: which there are, what they run, and that they can be drained."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Beat, Line, Progress, Pulse
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo, WorkerStatus
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, seconds, settle, state_of, succeeded

NOBODY = Beat(kept=frozenset(), lost=frozenset(), cancelling=frozenset())


def worker(id_: str = "a", **info: Any) -> WorkerInfo:
    return WorkerInfo(
        **{"id": id_, "host": "here", "pid": 7, "version": "1.2", "slots": 4, "lines": (MAIL,), **info}
    )


async def status(store: Store, id_: str = "a") -> WorkerStatus:
    [one] = [one for one in await store.workers() if one.worker.id == id_]
    return one


async def beat(store: Store, id_: str = "a") -> Beat:
    return await store.heartbeat(Pulse(worker=id_, leases=[]))


async def test_a_store_begins_without_workers(store: Store) -> None:
    assert await store.workers() == []


async def test_a_worker_is_known_as_it_introduced_itself(store: Store) -> None:
    info = worker(lines=(MAIL, Line("slow", "post", 3)), host="höst", slots=0)
    await store.enlist(info)
    assert await store.workers() == [
        WorkerStatus(worker=info, started_at=START, seen_at=START, draining=False, running=0, is_alive=True)
    ]


async def test_a_worker_may_bring_up_to_date_what_is_known_of_it(store: Store, clock: Clock) -> None:
    """It began when it was first heard of."""
    await store.enlist(worker())
    now = await clock.advance(seconds(9))
    changed = worker(slots=9, lines=(), version="1.3")
    await store.enlist(changed)
    [one] = await store.workers()
    assert (one.worker, one.started_at, one.seen_at) == (changed, START, now)


async def test_a_worker_is_ready_if_it_says_so_itself(store: Store) -> None:
    """From its first heartbeat on, until another says otherwise."""
    await store.enlist(worker())
    assert not (await status(store)).is_ready
    for ready in (True, False, True):
        await store.heartbeat(Pulse(worker="a", leases=[], ready=ready))
        assert (await status(store)).is_ready is ready


async def test_a_heartbeat_is_a_sign_of_life(store: Store, clock: Clock) -> None:
    """Also of a worker that has nothing to do."""
    await store.enlist(worker("a"))
    await store.enlist(worker("b"))
    await enqueue_one(store)
    [owned] = await claim(store, "a")
    now = await clock.advance(seconds(20))
    await store.heartbeat(Pulse(worker="a", leases=[owned.lease], progress={owned.lease: Progress(0.5)}))
    assert (await status(store, "a")).seen_at == now
    assert (await status(store, "b")).seen_at == START
    await beat(store, "b")
    assert (await status(store, "b")).seen_at == now


async def test_a_worker_not_seen_for_a_while_is_not_alive(store: Store, clock: Clock) -> None:
    """It is still shown, and may come back."""
    await store.enlist(worker())
    await clock.advance(seconds(35))
    assert (await status(store)).is_alive
    await clock.advance(timedelta(microseconds=1))
    assert not (await status(store)).is_alive
    await beat(store)
    assert (await status(store)).is_alive


async def test_who_was_never_introduced_may_work_all_the_same(store: Store) -> None:
    """Nothing rests on it but what is shown."""
    job = await enqueue_one(store)
    [owned] = await claim(store, "stranger")
    assert (await store.heartbeat(Pulse(worker="stranger", leases=[owned.lease]))).kept == {owned.lease}
    await settle(store, [succeeded(owned)], "stranger")
    assert await state_of(store, job) is State.SUCCEEDED
    assert await store.workers() == []


async def test_what_a_worker_runs_is_counted(store: Store, clock: Clock) -> None:
    """Whether it is to stop or not, and however it was claimed."""
    await store.enlist(worker("a"))
    await store.enlist(worker("b"))
    for _ in range(6):
        await enqueue_one(store)
    one, two = await claim(store, "a", limit=2)
    await claim(store, "a", limit=1)
    await claim(store, "b", limit=2)
    assert ((await status(store, "a")).running, (await status(store, "b")).running) == (3, 2)
    await store.cancel([one.lease.job])
    assert (await status(store, "a")).running == 3
    await settle(store, [succeeded(one)])
    await store.hand_back("a", unstarted=[two.lease], killed=[])
    assert (await status(store, "a")).running == 1
    await clock.advance(seconds(30))
    await store.reap(10)
    assert [each.running for each in await store.workers()] == [0, 0]


async def test_a_worker_hears_with_its_next_heartbeat_that_it_is_to_drain(store: Store, other: Store) -> None:
    """And with every one after it; nobody else does."""
    for id_ in ("a", "b"):
        await store.enlist(worker(id_))
    assert await beat(store) == NOBODY
    assert await other.drain("a")
    assert (await status(store)).draining
    assert [(await beat(store)).drain, (await beat(store)).drain, (await beat(store, "b")).drain] == [
        True,
        True,
        False,
    ]
    assert await store.drain("a")


async def test_a_worker_that_drains_keeps_what_it_holds(store: Store) -> None:
    await store.enlist(worker())
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await store.drain("a")
    answer = await store.heartbeat(Pulse(worker="a", leases=[owned.lease]))
    assert (answer.kept, answer.lost, answer.drain) == (frozenset({owned.lease}), frozenset(), True)
    await settle(store, [succeeded(owned)])
    assert await state_of(store, job) is State.SUCCEEDED


async def test_nobody_is_asked_to_drain_who_is_not_known(store: Store) -> None:
    assert not await store.drain("unheard-of")
    assert await store.workers() == []
    assert await beat(store, "unheard-of") == NOBODY


async def test_a_worker_that_has_stopped_is_forgotten(store: Store) -> None:
    """What it still held is nobody's business here: its leases run out."""
    await store.enlist(worker("a"))
    await store.enlist(worker("b"))
    job = await enqueue_one(store)
    await claim(store, "a")
    for _ in range(2):
        await store.dismiss("a")
    assert [each.worker.id for each in await store.workers()] == ["b"]
    assert not await store.drain("a")
    assert await state_of(store, job) is State.RUNNING


async def test_workers_not_seen_for_a_day_are_forgotten(store: Store, clock: Clock) -> None:
    """Those that ended without a word."""
    await store.enlist(worker("gone"))
    await store.enlist(worker("silent"))
    await clock.advance(timedelta(hours=23))
    await store.tidy()
    assert len(await store.workers()) == 2
    await beat(store, "silent")
    await clock.advance(timedelta(hours=2))
    await store.tidy()
    assert [each.worker.id for each in await store.workers()] == ["silent"]
    assert not (await status(store, "silent")).is_alive


async def test_workers_are_everybodys(store: Store, other: Store) -> None:
    await store.enlist(worker())
    assert await other.workers() == await store.workers()


async def test_a_pulse_of_nobody_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput, match="worker"):
        await beat(store, "")
