"""The commands that send webhooks: a worker of its own jobs, and a server without any."""

import asyncio
import os
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

from tenure.core.values.documents import write
from tenure.core.webhooks.delivery import DeliveryState
from tenure.storage.contract.store import Store
from tests.relay import receiver as receivers
from tests.relay.receiver import Receiver, answer
from tests.relay.running_relay import ALLOW, SECRET, end_jobs, hook
from tests.storage.verbs import enqueue_one
from tests.until import until
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


async def test_a_worker_runs_its_jobs_while_receivers_hang_and_flood(
    address: str, store: Store, receiver: Receiver, tmp_path: Path
) -> None:
    """S1.73: an endpoint that takes nothing delays neither a job nor what others are told."""
    receiver.paths |= {"/hang": receivers.hang, "/flood": answer(500, body=b"x" * 10_000_000)}
    bad = [await hook(store, receiver.url + path, timeout=timedelta(seconds=30)) for path in receiver.paths]
    await hook(store, f"{receiver.url}/good")
    params = write({**Ledger(tmp_path).params, "name": "ran"})
    async with worker_process(address, **ALLOWED):
        await enqueue_one(store, "short", params=params)
        await until(lambda: {one.target for one in receiver.requests} >= {"/hang", "/flood"})
        jobs = [await enqueue_one(store, "short", params=params) for _ in range(10)]
        await until(lambda: {f"msg_{job.hex}_3" for job in jobs} <= set(receiver.messages("/good")))
    for webhook in bad:
        states = Counter(one.state for one in await store.deliveries(webhook))
        assert states == {DeliveryState.WAITING: 11}


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
