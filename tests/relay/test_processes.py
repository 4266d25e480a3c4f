"""The commands that send webhooks: a worker of its own jobs, and a server without any."""

import asyncio
import os
import sys
from pathlib import Path

from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.relay.receiver import Receiver
from tests.relay.running_relay import ALLOW, SECRET, end_jobs, hook
from tests.storage.verbs import enqueue_one
from tests.worker.running_worker import ROOT
from tests.worker.worker_process import Ledger, worker_process

ALLOWED = {"TENURE_WEBHOOK_ALLOW": ALLOW[0], "TENURE_POLL_SECONDS": "0.1"}


async def test_a_worker_tells_of_the_jobs_that_it_runs(
    address: str, store: Store, receiver: Receiver, tmp_path: Path
) -> None:
    """S1.15, S1.17"""
    await hook(store, receiver.url, "onStart", "onEnd")
    params = write({**Ledger(tmp_path).params, "name": "ran"})
    async with worker_process(address, **ALLOWED):
        job = await enqueue_one(store, "short", params=params)
        requests = await receiver.has(2)
    assert set(receiver.messages()) == {f"msg_{job.hex}_2", f"msg_{job.hex}_3"}
    assert all(one.fits(SECRET) for one in requests)


async def test_a_server_without_an_app_sends_as_well(address: str, store: Store, receiver: Receiver) -> None:
    """S1.17"""
    await hook(store, receiver.url)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tenure", "serve", "--database", address, "--port", "0"),
        cwd=ROOT,
        env={**os.environ, **ALLOWED},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        messages = await end_jobs(store, 3)
        await receiver.has(3)
    finally:
        process.terminate()
        await process.wait()
    assert process.returncode == 0
    assert set(receiver.messages()) == set(messages)
