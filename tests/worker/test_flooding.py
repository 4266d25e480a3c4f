"""Processes that enqueue as much as they can, on the file that a worker works on: it keeps its leases."""

import asyncio
import signal
import sys
import time
from pathlib import Path

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.sqlite.flood import BATCH
from tests.whole import IS_WHOLE
from tests.worker.running_worker import ROOT, enqueue, reach
from tests.worker.worker_process import Ledger, worker_process

WRITERS, CALLERS = 3, 4
LEASES = 3 if IS_WHOLE else 1.1
"""How many leases long they write."""

WRITES_A_LEASE = 10
"""How many large writes, each by itself, this machine could make in the time of a lease: it may be busy."""


@pytest.mark.parametrize("address", ["sqlite"], indirect=True)
async def test_no_lease_is_lost_to_those_who_enqueue_large_batches(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S1.58: three processes, several callers in each, ten thousand jobs a call, again and again."""
    ledger = Ledger(tmp_path)
    began = time.monotonic()
    await store.enqueue(BATCH)
    lease = max(3.0, WRITES_A_LEASE * (time.monotonic() - began))
    async with worker_process(address, "--lease-seconds", str(lease)) as worker:
        jobs = [await enqueue(store, "wait", ledger.params) for _ in range(3)]
        await ledger.reach("start", len(jobs))
        writers = [await flooding(tmp_path / "tenure.db", LEASES * lease) for _ in range(WRITERS)]
        assert [await writer.wait() for writer in writers] == [0] * WRITERS
        ledger.let_go()
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
    assert [line for line in worker.output if "attempt.lost" in line or "jobs.reaped" in line] == []
    assert len(ledger.entries("start")) == len(jobs)


async def flooding(path: Path, seconds: float) -> asyncio.subprocess.Process:
    """A process that floods the file for so long, and ends."""
    arguments = (str(path), str(CALLERS), str(seconds))
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.storage.sqlite.flood", *arguments, cwd=ROOT
    )
