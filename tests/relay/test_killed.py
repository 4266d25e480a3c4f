"""Processes that send webhooks are killed: nothing that was committed is lost, and nothing else told."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tenure.core.reports.reading import START
from tenure.storage.contract.store import Store
from tests.relay.receiver import Receiver, Request
from tests.relay.running_relay import ALLOW, SECRET, end_jobs, fail_job, hook
from tests.until import until
from tests.whole import IS_WHOLE
from tests.worker.running_worker import ROOT

ROUNDS = 3 if IS_WHOLE else 1
"""How many processes are killed: the next one waits half a minute for what each has begun."""


@asynccontextmanager
async def scheduler_process(address: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`tenure scheduler`, which fans out and sends as a worker does; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tenure", "scheduler", "--database", address),
        cwd=ROOT,
        env={**os.environ, "TENURE_WEBHOOK_ALLOW": ALLOW[0], "TENURE_POLL_SECONDS": "0.1"},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


@pytest.mark.timeout(300)
async def test_processes_that_are_killed_lose_nothing_and_make_nothing_up(
    address: str, store: Store, receiver: Receiver
) -> None:
    """S1.17, S1.73: every committed event comes at least once, under one id."""

    async def slowly(_: Request, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.02)
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    receiver.behave = slowly
    await hook(store, receiver.url, "onEnd")
    wanted: list[str] = []
    for n in range(ROUNDS):
        async with scheduler_process(address) as process:
            working = asyncio.create_task(end_jobs(store, 40))
            await _some_more(receiver, 1 + 5 * n)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            wanted += await working
    wanted.append(f"msg_{(await fail_job(store)).hex}_3")
    async with scheduler_process(address):
        await until(lambda: len(receiver.messages()) >= len(wanted), within=120)
    assert set(receiver.messages()) == set(wanted)
    assert all(one.fits(SECRET) for one in receiver.requests)
    committed = {f"msg_{one.event.job.hex}_{one.event.n}" for one in await store.feed(START, limit=10_000)}
    assert set(receiver.messages()) <= committed
    bodies = {(one.message, one.body) for one in receiver.requests}
    assert len(bodies) == len(wanted)  # each time the same


async def _some_more(receiver: Receiver, number: int) -> None:
    """Wait for so many requests more."""
    enough = len(receiver.requests) + number
    await until(lambda: len(receiver.requests) >= enough)
