"""Lanes that keep processes, as the command runs them."""

import asyncio
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.outcome import Ending
from tenure.core.model.policy import Policy
from tenure.core.model.states import FINAL, State
from tenure.core.values.bounds import MOST_HAND_BACKS
from tenure.core.values.documents import write
from tenure.engine.worker.slot_pool import HELD_FOR
from tenure.storage.contract.store import Store
from tests.whole import IS_WHOLE, dealt
from tests.worker.lanes_app import LANES
from tests.worker.running_worker import enqueue, reach, vanish
from tests.worker.test_settings_at_work import prolonged
from tests.worker.worker_process import Ledger, descendants, worker_process

pytestmark = pytest.mark.parametrize("address", dealt(1), indirect=True)

TARGET = "tests.worker.lanes_app:app"
SHARED = ("async", "thread")
"""Where one process runs many attempts."""

WAVES, SLOTS = 3, 40
BLOCKED = 60.0
"""Seconds for which a handler blocks its loop."""
WATCHED = BLOCKED - 5 if IS_WHOLE else 6.0
"""Seconds for which it is watched: longer than a lease, or nearly as long as it takes."""
SHORT = {"TENURE_LEASE_SECONDS": "4", "TENURE_HEARTBEAT_SECONDS": "0.3"}


def laned(address: str, **variables: str) -> Any:
    return worker_process(address, target=TARGET, TENURE_WARM_SLOTS="2", **variables)


def ledger_in(folder: Path) -> Ledger:
    """A ledger in a new folder."""
    folder.mkdir()
    return Ledger(folder)


async def one_in_each_lane(store: Store, what: str, ledger: Ledger) -> list[UUID]:
    """A job for every lane; one worker runs them side by side."""
    return [await enqueue(store, f"{lane}.{what}", ledger.params) for lane in LANES]


async def test_what_attempts_say_is_their_own(store: Store, address: str) -> None:
    """Many at once: each one's output, log and events are with its job."""
    names = {f"{lane} {n}": f"{lane}.tell" for n in range(20) for lane in LANES}
    jobs = {name: await enqueue(store, definition, {"name": name}) for name, definition in names.items()}
    async with laned(address):
        for name, job in jobs.items():
            done = await reach(store, job, State.SUCCEEDED)
            assert done.result == f'"{name}"'
            texts = [logged.line.text for logged in await store.logs(job)]
            assert sorted(texts) == [f"logged by {name}", f"printed by {name}"]
            events = [event.payload for event in await store.events(job) if event.type == "custom:said"]
            assert events == [f'{{"by":"{name}"}}']


async def test_a_shared_process_runs_many_attempts_beside_the_worker(
    store: Store, address: str, tmp_path: Path
) -> None:
    ledgers = {lane: ledger_in(tmp_path / lane) for lane in SHARED}
    jobs = [await enqueue(store, f"{lane}.wait", ledgers[lane].params) for lane in SHARED for _ in range(5)]
    async with laned(address) as worker:
        pids = {entry.pid for ledger in ledgers.values() for entry in await ledger.reach("start", 5)}
        assert len(pids) == len(SHARED)
        assert pids <= set(descendants(worker.pid))
        for ledger in ledgers.values():
            ledger.let_go()
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


async def test_a_warm_process_is_used_again_and_never_by_two(
    store: Store, address: str, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path)
    jobs = [await enqueue(store, "warm.wait", ledger.params) for _ in range(8)]
    async with laned(address):
        first = await ledger.reach("start", 2)
        assert len({entry.pid for entry in first}) == 2
        ledger.let_go()
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
    assert len({entry.pid for entry in ledger.entries("start")}) == 2


async def test_a_job_that_runs_can_be_cancelled(store: Store, address: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    jobs = await one_in_each_lane(store, "wait", ledger)
    async with laned(address):
        await ledger.reach("start", len(jobs))
        await store.cancel(jobs)
        for job in jobs:
            assert (await reach(store, job, *FINAL)).state is State.CANCELLED
    assert not ledger.entries("effect")


async def test_who_does_not_stop_in_time_is_killed_and_its_neighbours_pay_nothing(
    store: Store, address: str, tmp_path: Path
) -> None:
    """In a shared process they are handed back uncharged, and run again; elsewhere they are left alone."""
    async with laned(address), asyncio.TaskGroup() as lanes:
        for lane in LANES:
            lanes.create_task(kill_the_deaf(store, lane, tmp_path / lane))


async def kill_the_deaf(store: Store, lane: str, folder: Path) -> None:
    ledger, blocked = ledger_in(folder), ledger_in(folder / "blocked")
    neighbour = await enqueue(store, f"{lane}.wait", ledger.params)
    await ledger.reach("start", 1)
    terms = {"timeout": timedelta(seconds=1), "grace": timedelta(milliseconds=200), "max_attempts": 1}
    deaf = await enqueue(store, f"{lane}.block", blocked.params, policy=terms)
    ended = await reach(store, deaf, State.FAILED)
    assert ended.error is not None
    assert ended.error.kind == "TimedOut"
    starts = await ledger.reach("start", 2 if lane in SHARED else 1)
    [pid] = [entry.pid for entry in blocked.entries("blocked")]
    await vanish(pid)
    ledger.let_go()
    done = await reach(store, neighbour, State.SUCCEEDED)
    assert done.attempt == 1
    assert (done.hand_backs > 0) == (lane in SHARED)
    assert (starts[0].pid == pid) == (lane in SHARED)


async def test_a_blocked_loop_costs_no_lease_and_delays_no_other_lane(
    store: Store, address: str, tmp_path: Path
) -> None:
    """A handler that keeps its loop for a minute: the process that holds leases is another one.

    Seen for longer than a lease, while heartbeats go on and every other lane serves; or for the whole minute.
    """
    ledger = Ledger(tmp_path)
    async with laned(address, **SHORT, TENURE_SHUTDOWN_SECONDS="0") as worker:
        job = await enqueue(store, "async.busy", {**ledger.params, "seconds": BLOCKED})
        await ledger.reach("blocked", 1)
        taken = await reach(store, job, State.RUNNING)
        seen_until = await store.now() + timedelta(seconds=WATCHED)
        while await store.now() < seen_until:
            await prolonged(store, job)
            for lane in ("process", "warm", "thread", "spawn"):
                other = await enqueue(store, f"{lane}.tell", {"name": lane})
                assert (await reach(store, other, State.SUCCEEDED)).attempt == 1
        watched = await reach(store, job, State.RUNNING)
        assert (watched.attempt, watched.fence) == (1, taken.fence)
        if IS_WHOLE:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
    [attempt] = await store.attempts(job)
    assert attempt.ending is (Ending.SUCCEEDED if IS_WHOLE else Ending.KILLED)


async def test_waves_of_attempts_use_up_nobodys_hand_backs(store: Store, address: str) -> None:
    """All slots are busy at once: a job claimed ahead would be handed back each time.

    Behind attempts that take longer than anything is held, no job waits under a lease. What is over in little
    more than a moment is claimed ahead, and begins in time.
    """
    async with laned(address, TENURE_ASYNC_SLOTS=str(SLOTS)):
        assert max(await waves(store, 1.2 * HELD_FOR)) == 0
        assert max(await waves(store, 0.25)) < MOST_HAND_BACKS


async def waves(store: Store, seconds: float) -> list[int]:
    """How often each of many jobs was handed back that all take so long, and have one attempt."""
    nap = NewJob(definition="async.nap", params=write({"seconds": seconds}), policy=Policy(max_attempts=1))
    made = await store.enqueue([nap] * (WAVES * SLOTS))
    return [(await reach(store, job.id, State.SUCCEEDED)).hand_backs for job in made]


async def test_a_crash_is_named_and_costs_its_own_attempt(store: Store, address: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    jobs = await one_in_each_lane(store, "die", ledger)
    async with laned(address):
        await ledger.reach("start", len(jobs))
        ledger.let_go()
        for job in jobs:
            done = await reach(store, job, State.SUCCEEDED)
            assert done.attempt == 2
            first, second = await store.attempts(job)
            assert first.error is not None
            assert "SIGKILL" in first.error.message
            assert second.ending is Ending.SUCCEEDED


async def test_a_crash_among_many_is_charged_to_who_did_it(
    store: Store, address: str, tmp_path: Path
) -> None:
    """At first it is unknown which one it was: all are handed back and tried apart, which shows it."""
    async with laned(address), asyncio.TaskGroup() as lanes:
        for lane in SHARED:
            lanes.create_task(crash_among_many(store, lane, tmp_path / lane))


async def crash_among_many(store: Store, lane: str, folder: Path) -> None:
    ledger, fatal = ledger_in(folder), ledger_in(folder / "fatal")
    neighbours = [await enqueue(store, f"{lane}.wait", ledger.params) for _ in range(3)]
    await ledger.reach("start", 3)
    fatal.let_go()
    guilty = await enqueue(store, f"{lane}.die", fatal.params)
    assert (await reach(store, guilty, State.SUCCEEDED)).attempt == 2
    await ledger.reach("start", 6)
    ledger.let_go()
    for job in neighbours:
        done = await reach(store, job, State.SUCCEEDED)
        assert (done.attempt, done.failures) == (1, 0)
        assert done.hand_backs > 0


async def test_nobody_outlives_a_worker_that_is_killed(store: Store, address: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    jobs = await one_in_each_lane(store, "wait", ledger)
    async with laned(address, **SHORT) as worker:
        starts = await ledger.reach("start", len(jobs))
        worker.send(signal.SIGKILL)
        for start in starts:
            await vanish(start.pid)
    async with laned(address):
        await ledger.reach("start", 2 * len(jobs))
        ledger.let_go()
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 2


async def test_a_worker_that_ends_hands_back_what_does_not(
    store: Store, address: str, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path)
    jobs = await one_in_each_lane(store, "wait", ledger)
    async with laned(address, TENURE_SHUTDOWN_SECONDS="0") as worker:
        starts = await ledger.reach("start", len(jobs))
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        for start in starts:
            await vanish(start.pid)
    for job in jobs:
        returned = await reach(store, job, State.QUEUED)
        assert (returned.attempt, returned.hand_backs) == (0, 1)
