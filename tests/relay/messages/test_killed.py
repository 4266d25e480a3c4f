"""Server and workers as processes, one of them killed; `tests/chaos/test_messages.py` kills all of them."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from uuid import UUID

import httpx

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.relay.messages.sqs_server import Queue, SqsServer
from tests.until import until
from tests.worker.running_worker import ROOT, reach
from tests.worker.worker_process import Ledger, worker_process


def variables(server: SqsServer, queue: Queue, sweep: str = "3600") -> dict[str, str]:
    return {
        **server.variables,
        "TENURE_TRANSPORT": "sqs",
        "TENURE_SQS_QUEUE_URL": queue.url,
        "TENURE_SWEEP_SECONDS": sweep,
        "TENURE_LOG_FORMAT": "json",
    }


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@asynccontextmanager
async def api_process(
    address: str, port: int, given: Mapping[str, str]
) -> AsyncIterator["asyncio.subprocess.Process"]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tenure", "api", "--database", address, "--port", str(port)),
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", **given},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def post(port: int, key: str, definition: str, params: object) -> UUID:
    """Ask until the server has answered: with its key the request may be repeated."""
    found: list[UUID] = []
    url = f"http://127.0.0.1:{port}"

    async def is_answered() -> bool:
        with suppress(httpx.HTTPError):
            async with httpx.AsyncClient(base_url=url, timeout=5, verify=False) as client:  # noqa: S501
                asked = {"definitionKey": definition, "params": params, "idempotencyKey": key}
                answer = await client.post("/v1/jobs", json=asked)
                # Before its worker has registered it, a definition is unknown.
                assert answer.status_code in {200, 202, 404, 422}, answer.text
                if answer.status_code in {200, 202}:
                    found.append(UUID(answer.json()["jobId"]))
        return bool(found)

    await until(is_answered)
    return found[0]


async def test_the_api_sends_what_it_records(
    store: Store, address: str, queue: Queue, shared_server: SqsServer, tmp_path: Path
) -> None:
    """S2.4, S2.21: it creates the job and sends the message; a worker in another process claims by it."""
    given, port, ledger = variables(shared_server, queue), free_port(), Ledger(tmp_path)
    ledger.let_go()
    async with worker_process(address, **given) as worker, api_process(address, port, given):
        await worker.wait_for("worker.ready")
        job = await post(port, "one", "wait", ledger.params)
        await reach(store, job, State.SUCCEEDED)
        await until(lambda: is_read(queue))


async def is_read(queue: Queue) -> bool:
    backlog = await queue.transport.backlog()
    return backlog.waiting == backlog.hidden == 0


async def test_a_worker_that_is_killed_leaves_its_message_to_another(
    store: Store, address: str, queue: Queue, shared_server: SqsServer, tmp_path: Path
) -> None:
    """S2.34, S2.36: the job is claimed again when its lease is over, by the reaper's message or its own."""
    given, ledger = variables(shared_server, queue), Ledger(tmp_path)
    port = free_port()
    async with api_process(address, port, given):
        async with worker_process(address, "--lease-seconds", "3", **given) as first:
            await first.wait_for("worker.ready")
            job = await post(port, "one", "wait", ledger.params)
            await ledger.reach("start", 1)
            first.send(signal.SIGKILL)
            await first.ended()
        ledger.let_go()
        async with worker_process(address, **given):
            done = await reach(store, job, State.SUCCEEDED)
    assert done.attempt == 2
