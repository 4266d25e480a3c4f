"""Workers as processes, stopped in every way there is: nothing is lost, nothing is done twice unseen."""

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.worker.running_worker import enqueue, is_alive, reach, vanish
from tests.worker.worker_process import Command, Ledger, descendants, worker_process

BRIEF = ("--lease-seconds", "3")
"""For a worker that will lose its lease soon. The next one keeps its own, however slow the machine is."""


@pytest.mark.both_stores
async def test_a_worker_that_is_killed_loses_nothing(store: Store, address: str, tmp_path: Path) -> None:
    """S0.25, S0.74, S1.23: its child dies with it, and another worker runs the job again."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "wait", ledger.params)
    async with worker_process(address, *BRIEF) as first:
        [start] = await ledger.reach("start", 1)
        first.send(signal.SIGKILL)
        await first.ended()
        await vanish(start.pid)
    async with worker_process(address):
        await ledger.reach("start", 2)
        ledger.let_go()
        done = await reach(store, job, State.SUCCEEDED)
    lost, good = await store.attempts(job)
    assert (lost.ending, good.ending) == (Ending.LOST, Ending.SUCCEEDED)
    assert [effect.fence for effect in ledger.entries("effect")] == [good.fence]
    assert done.attempt == 2


@pytest.mark.both_stores
async def test_a_worker_killed_between_the_effect_and_its_record_is_followed_by_another(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S0.5, S3.2, S3.4: it may run twice and is never lost; the second time has a fence of its own."""
    ledger = Ledger(tmp_path)
    async with worker_process(address, *BRIEF) as first:
        await first.wait_for("worker.ready")
        job = await enqueue(store, "regicide", {**ledger.params, "worker": first.pid})
        await first.ended()
    async with worker_process(address):
        done = await reach(store, job, State.SUCCEEDED)
    one, two = ledger.entries("effect")
    assert one.fence < two.fence == done.fence


async def test_who_is_asked_twice_knows_by_the_key_that_it_is_once(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S2.30, S3.65: a key is the same in every attempt of a job, and no other job has it."""
    (bank := tmp_path / "bank").mkdir()
    async with worker_process(address, *BRIEF) as first:
        await first.wait_for("worker.ready")
        job = await enqueue(store, "charge", {"bank": str(bank), "worker": first.pid})
        await first.ended()
    async with worker_process(address):
        await reach(store, job, State.SUCCEEDED)
        await reach(store, await enqueue(store, "charge", {"bank": str(bank)}), State.SUCCEEDED)
    assert sorted(requests.read_text() for requests in bank.iterdir()) == ["1\n", "1\n2\n"]


@pytest.mark.both_stores
async def test_a_worker_killed_between_the_claim_and_the_start_is_followed_by_another(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S0.73, S3.45, S3.62: claimed and never begun; the attempt counts, since that cannot be known."""
    ledger = Ledger(tmp_path)
    async with worker_process(address, *BRIEF) as first:
        await first.wait_for("worker.ready")
        family = descendants(first.pid)
        for pid in family:
            os.kill(pid, signal.SIGSTOP)
        job = await enqueue(store, "wait", ledger.params)
        await reach(store, job, State.RUNNING)
        first.send(signal.SIGKILL)
        # The first of them ends the others, which have not moved since.
        os.kill(family[0], signal.SIGCONT)
        await first.ended()
        for pid in family:
            await vanish(pid)
    assert not ledger.entries("start")
    async with worker_process(address):
        await ledger.reach("start", 1)
        ledger.let_go()
        done = await reach(store, job, State.SUCCEEDED)
    assert done.attempt == 2


@pytest.mark.both_stores
async def test_a_job_that_must_not_run_twice_is_buried_with_its_worker(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S4.38: at most once, where a definition asks for it."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "once", ledger.params, policy={"on_lost": "bury"})
    async with worker_process(address, *BRIEF) as first:
        await ledger.reach("start", 1)
        first.send(signal.SIGKILL)
        await first.ended()
    async with worker_process(address):
        await reach(store, job, State.BURIED)
    assert len(ledger.entries("start")) == 1


async def stop_between_writes(worker: Command, store: Store) -> None:
    """Stop a worker. One that sleeps with the lock of an SQLite file makes every process wait, us as well."""
    while True:
        worker.send(signal.SIGSTOP)
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(2):
                await store.promote(limit=1)
                return
        worker.send(signal.SIGCONT)


@pytest.mark.both_stores
async def test_a_worker_that_slept_through_its_lease_changes_nothing(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S0.61, S0.62: its child is gone before another worker begins, though its own could not stop it."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "wait", ledger.params)
    # The guard kills a tenth of the lease before its end: time enough for one that is not run at once.
    async with worker_process(address, "--lease-seconds", "5") as sleeper:
        [start] = await ledger.reach("start", 1)
        await stop_between_writes(sleeper, store)
        async with worker_process(address):
            _, second = await ledger.reach("start", 2)
            assert not is_alive(start.pid)
            sleeper.send(signal.SIGCONT)
            await sleeper.wait_for("lost")
            ledger.let_go()
            await reach(store, job, State.SUCCEEDED)
    assert [effect.fence for effect in ledger.entries("effect")] == [second.fence]


async def test_a_worker_that_is_told_to_stop_finishes_what_it_has_begun(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S3.54, S3.56, S3.44: it claims no more, waits for what runs, and ends well."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "wait", ledger.params)
    async with worker_process(address, "--slots", "1") as worker:
        await ledger.reach("start", 1)
        worker.send(signal.SIGTERM)
        await worker.wait_for("worker.draining")
        late = await enqueue(store, "wait", ledger.params)
        ledger.let_go()
        assert await worker.ended() == 0
    assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
    assert (await reach(store, late, State.QUEUED)).attempt == 0


async def test_what_does_not_end_in_time_is_handed_back_uncharged(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S3.57, S3.6, S3.55: killed at the deadline; the next worker begins anew, as if nothing had been."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "wait", ledger.params)
    async with worker_process(address, "--shutdown-seconds", "0.2") as worker:
        [start] = await ledger.reach("start", 1)
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        await vanish(start.pid)
    returned = await reach(store, job, State.QUEUED)
    assert (returned.attempt, returned.hand_backs) == (0, 1)


async def test_a_second_signal_ends_it_at_once(store: Store, address: str, tmp_path: Path) -> None:
    """S3.6: the second signal ends it at once; the job is still handed back."""
    ledger = Ledger(tmp_path)
    job = await enqueue(store, "wait", ledger.params)
    async with worker_process(address) as worker:
        await ledger.reach("start", 1)
        worker.send(signal.SIGINT)
        await worker.wait_for("worker.draining")
        worker.send(signal.SIGINT)
        assert await worker.ended() == 130
    assert (await reach(store, job, State.QUEUED)).attempt == 0


@pytest.mark.usefixtures("store")
async def test_signals_that_come_too_late_change_nothing(address: str) -> None:
    """Stopped again and again, it ends in order and does not die of the last signal."""
    async with worker_process(address) as worker:
        await worker.wait_for("worker.ready")
        ending = asyncio.create_task(worker.ended())
        while not ending.done():
            worker.send(signal.SIGTERM)
            await asyncio.sleep(0.001)
        assert await ending in {0, 130}


async def test_a_module_that_cannot_be_imported_claims_nothing(store: Store, address: str) -> None:
    job = await enqueue(store, "wait")
    async with worker_process(address, target="tests.worker.nowhere:app") as worker:
        assert await worker.ended() == 2
    assert "tests.worker.nowhere" in worker.output[-1]
    assert (await reach(store, job, State.QUEUED)).attempt == 0


async def test_a_handler_cannot_open_a_store(store: Store, address: str) -> None:
    """It would write to a stray file; what it may do is named."""
    job = await enqueue(store, "stray", policy={"max_attempts": 1})
    async with worker_process(address):
        failed = await reach(store, job, State.FAILED)
    assert failed.error is not None
    assert "ctx.enqueue" in failed.error.message


async def test_a_handler_is_told_that_a_key_was_used_for_something_else(
    store: Store, address: str, tmp_path: Path
) -> None:
    """As for every caller: the other job is not returned for this request."""
    ledger = Ledger(tmp_path)
    ledger.let_go()
    await enqueue(store, "wait", {**ledger.params, "other": True}, key="taken", scope="wait")
    job = await enqueue(store, "parent", {**ledger.params, "key": "taken"}, policy={"max_attempts": 1})
    async with worker_process(address):
        failed = await reach(store, job, State.FAILED)
    assert failed.error is not None
    assert failed.error.kind.endswith("IdempotencyConflict")


async def test_a_handler_may_enqueue_under_its_lease(store: Store, address: str, tmp_path: Path) -> None:
    """Over the pipe, as a child of its job, judged like any other."""
    ledger = Ledger(tmp_path)
    ledger.let_go()
    job = await enqueue(store, "parent", ledger.params)
    async with worker_process(address):
        done = await reach(store, job, State.SUCCEEDED)
        assert done.result is not None
        child = await reach(store, UUID(json.loads(done.result)), State.SUCCEEDED)
    assert child.parent == job
