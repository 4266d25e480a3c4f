"""A job that kills every process it can: its neighbours, and those above it."""

import signal
from pathlib import Path

import pytest

from tenure.assemble.start_notices import OPEN_TO_SIGNALS
from tenure.core.model.states import State
from tenure.execution.protocol import kernel
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tests.worker.running_worker import enqueue, reach
from tests.worker.worker_process import Ledger, descendants, worker_process

TARGET = "tests.worker.neighbours_app:app"
LANES = ("process", "warm", "spawn", "async")


@pytest.fixture
def address(tmp_path: Path) -> str:
    """No store is concerned: one kind is enough."""
    return f"sqlite:///{tmp_path / 'tenure.db'}"


@pytest.mark.parametrize("lane", ["process", "warm", "thread", "command"])
async def test_a_job_that_kills_its_neighbours_harms_and_charges_nobody(
    store: Store, address: str, tmp_path: Path, lane: str
) -> None:
    """S1.19: nor the zygote, the guard or the worker; where the kernel cannot keep it, the worker says so."""
    ledger = Ledger(tmp_path)
    usual = {"TENURE_CHILD_SIGNALS": "own", "TENURE_LOG_FORMAT": "console"}
    assert Settings().child_signals == "own"
    async with worker_process(address, target=TARGET, **usual) as worker:
        await worker.wait_for(" serves ")
        is_kept = kernel.can_keep_signals()
        assert any(OPEN_TO_SIGNALS in line for line in worker.output) is not is_kept
        neighbours = [await enqueue(store, f"{lane}.wait", ledger.params) for lane in LANES]
        await ledger.reach("start", len(LANES))
        family = [worker.pid, *descendants(worker.pid)] if is_kept else []
        killer = await enqueue(store, f"{lane}.kill", {"family": family}, policy={"max_attempts": 1})
        killed = await reach(store, killer, State.SUCCEEDED, State.FAILED)
        assert (killed.state, killed.result) == (State.SUCCEEDED, "0"), await store.attempts(killer)
        ledger.let_go()
        for job in neighbours:
            await reach(store, job, State.SUCCEEDED)
            assert len(await store.attempts(job)) == 1


async def test_whoever_may_signal_anybody_has_neighbours_charged_for_it(
    store: Store, address: str, tmp_path: Path
) -> None:
    """A process killed from outside looks like one that killed itself."""
    ledger = Ledger(tmp_path)
    async with worker_process(address, target=TARGET):
        job = await enqueue(store, "process.wait", ledger.params)
        [begun] = await ledger.reach("start", 1)
        killer = await enqueue(store, "process.kill", {"family": [begun.pid]})
        assert (await reach(store, killer, State.SUCCEEDED)).result == "1"
        ledger.let_go()
        await reach(store, job, State.SUCCEEDED)
        first, second = await store.attempts(job)
    assert first.error is not None
    assert first.error.kind == "KilledBySignal"
    assert (first.number, second.number) == (1, 2)
    assert first.usage is not None
    assert first.usage.signal == signal.SIGKILL
