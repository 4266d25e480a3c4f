"""A worker whose log is not read, and one whose log a program reads."""

import asyncio
import fcntl
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.until import until
from tests.whole import dealt
from tests.worker.running_worker import PATIENCE, ROOT, enqueue, reach
from tests.worker.worker_process import PROGRAM, Ledger, worker_process

pytestmark = pytest.mark.parametrize("address", dealt(0), indirect=True)

SMALLEST = 4096
"""Bytes that a pipe holds at least; a line has some five hundred."""


@asynccontextmanager
async def unread(address: str, *flags: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker whose standard error is a small pipe; its reader has stopped."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALLEST)
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tenure", "worker", PROGRAM, "--database", address, *flags),
        cwd=ROOT,
        stderr=writing,
    )
    os.close(writing)
    try:
        yield worker
    finally:
        os.close(reading)
        if worker.returncode is None:
            worker.kill()
            await worker.wait()


async def test_a_worker_whose_log_nobody_reads_works_on_and_keeps_its_leases(
    store: Store, address: str, tmp_path: Path
) -> None:
    """The pipe is full after ten lines; a lease is kept through all of what follows, and prolonged."""
    ledger = Ledger(tmp_path)
    long = await enqueue(store, "wait", ledger.params)
    async with unread(address, "--lease-seconds", "6") as worker:
        await ledger.reach("start", 1)
        for n in range(4):
            jobs = [await enqueue(store, "short", {**ledger.params, "name": f"s{n}"}) for _ in range(15)]
            for job in jobs:
                await reach(store, job, State.SUCCEEDED)
        before = (await reach(store, long, State.RUNNING)).lease_expires_at

        async def is_prolonged() -> bool:
            now = (await reach(store, long, State.RUNNING)).lease_expires_at
            assert now
            return now != before

        await until(is_prolonged)
        ledger.let_go()
        assert (await reach(store, long, State.SUCCEEDED)).attempt == 1
        worker.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await worker.wait() == 0


async def test_a_worker_tells_programs_of_each_attempt_in_json(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S1.74, S2.43: as it is run, with nothing set; what it says to people at the start comes before."""
    ledger = Ledger(tmp_path)
    ledger.let_go()
    parent = "4bf92f3577b34da6a3ce929d0e0e4736"
    traced = f"00-{parent}-00f067aa0ba902b7-01"
    job = await enqueue(store, "wait", ledger.params, traceparent=traced)
    wrong = await enqueue(store, "wait", {"ledger": str(tmp_path)}, policy={"max_attempts": 2})
    async with worker_process(address) as worker:
        await reach(store, job, State.SUCCEEDED)
        await reach(store, wrong, State.FAILED)
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
    entries: list[dict[str, Any]] = [json.loads(line) for line in worker.output if line.startswith("{")]
    assert [one["event"] for one in entries if one["event"].startswith("worker.")] == [
        *("worker.ready", "worker.draining", "worker.stopped")
    ]
    [name] = {one["worker"] for one in entries}
    settled = [one for one in entries if one["event"] == "attempt.settled"]
    [well] = [one for one in settled if one["jobId"] == str(job)]
    assert (well["definition"], well["attempt"], well["worker"], well["traceId"]) == ("wait", 1, name, parent)
    assert well["durationSeconds"] > 0
    bad = [one for one in settled if one["jobId"] == str(wrong)]
    assert [(one["state"], one["retries"], one["level"]) for one in bad] == [
        ("retrying", 0, "warning"),
        ("failed", 1, "error"),
    ]
    assert all(one["reason"].startswith("IsADirectoryError") for one in bad)
