"""What a worker does all the while: fill its slots, look after the clock, and share the work with others."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Attempt
from tenure.core.model.states import State
from tenure.core.signals import DutyDone
from tenure.storage.contract.store import Store
from tests.worker.running_worker import appear, enqueue, reach, run_worker
from tests.worker.worker_process import Ledger, worker_process

SLOTS = 3


async def test_a_worker_runs_as_many_jobs_at_once_as_it_has_slots(
    store: Store, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1.69, S3.38, S3.41: no more, and none in a process that another has used."""
    monkeypatch.setenv("TENURE_MAX_CONCURRENT_EXECUTIONS", str(SLOTS))
    monkeypatch.setenv("TENURE_BUFFER", "0")  # what is held counts as begun by the store's record
    ledger = Ledger(tmp_path)
    jobs = [await enqueue(store, "wait", ledger.params) for _ in range(4 * SLOTS)]
    async with worker_process(address):
        await ledger.reach("start", SLOTS)
        ledger.let_go()
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
    assert most_at_once([one for job in jobs for one in await store.attempts(job)]) == SLOTS
    assert len({start.pid for start in ledger.entries("start")}) == len(jobs)


async def test_a_second_worker_makes_more_room(store: Store, tmp_path: Path) -> None:
    """S1.4: two jobs that wait for each other, and workers with one slot each."""
    end = tmp_path / "end"
    async with run_worker(store, slots=1), run_worker(store, slots=1):
        begun = [tmp_path / f"begun-{n}" for n in range(2)]
        jobs = [await enqueue(store, "wait", {"begun": str(path), "end": str(end)}) for path in begun]
        for path in begun:
            await appear(path)
        end.touch()
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
    assert len({one.worker for job in jobs for one in await store.attempts(job)}) == 2


async def test_a_delayed_job_is_made_ready_by_a_worker_and_run(store: Store) -> None:
    """S4.27, S4.28: looked at until it is due, which needs no hint."""
    async with run_worker(store) as running:
        job = await enqueue(store, "echo", delay=timedelta(milliseconds=300))
        done = await reach(store, job, State.SUCCEEDED)
    assert [event.type for event in await store.events(job)] == [
        "scheduled",
        "queued",
        "started",
        "succeeded",
    ]
    assert done.started_at is not None
    assert done.started_at - done.created_at >= timedelta(milliseconds=300)
    assert ("promote", job) in [(duty.duty, duty.moved[0].job) for duty in running.signals(DutyDone)]


async def test_leases_that_run_out_are_reaped_again_and_again(store: Store) -> None:
    """S3.47: by any worker, for all lost workers, and not just once."""
    line = Line("elsewhere", "echo")
    ghost = Order(worker="ghost", lines=(line,), limit=1, lease_for=timedelta(seconds=1))
    async with run_worker(store):
        for _ in range(2):
            job = await enqueue(store, "echo", queue=line.queue, policy={"max_attempts": 1})
            assert len((await store.settle_and_claim([], ghost)).claimed) == 1
            await reach(store, job, State.FAILED)


async def test_a_handler_is_a_program_like_any_other(store: Store) -> None:
    """S1.10: chance, clocks, threads, files, sockets and other programs; no two runs need be alike."""
    async with run_worker(store):
        jobs = [await enqueue(store, "roam", policy={"max_attempts": 1}) for _ in range(2)]
        results = [json.loads((await reach(store, job, State.SUCCEEDED)).result or "") for job in jobs]
    one, other = results
    assert all(one[what] != other[what] for what in ("chance", "clock"))
    assert one["heard"] == other["heard"] == ["by a thread", "by a file", "by a socket", "by a program"]


def most_at_once(attempts: list[Attempt]) -> int:
    """Of how many attempts the owner held the lease at the same time, at most."""
    ends = [(one.ended_at, -1) for one in attempts if one.ended_at is not None]
    most = now = 0
    # Of one moment the ends come first: what ends makes room for what begins in the same turn.
    for _, change in sorted([*ends, *((one.started_at, 1) for one in attempts)]):
        now += change
        most = max(most, now)
    return most
