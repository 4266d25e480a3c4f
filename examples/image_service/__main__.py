"""Runs the whole service on this machine: `python -m examples.image_service`. Ctrl-C ends it.

moto's server in the place of Amazon, the API and a worker: each a process of its own, as it would be
elsewhere. All they keep is in a temporary folder.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import urllib.error
import urllib.request
from asyncio.subprocess import Process, create_subprocess_exec
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from examples.image_service.local_cloud import prepare

PATIENCE = 60.0
"""Seconds that each part has to answer for the first time."""


async def run(port: int, trigger: str, folder: Path) -> None:
    """Start every part, say where to look, and stop all of them when one ends or when told to."""
    worker_port, cloud_port = port + 1, port + 2
    database = {"TENURE_DATABASE": f"sqlite:///{folder / 'jobs.db'}"}
    async with AsyncExitStack() as parts:
        cloud = await _start(parts, {}, folder, "moto.server", "-p", str(cloud_port))
        await _answers(cloud, f"http://127.0.0.1:{cloud_port}/moto-api/data.json")
        variables = {**await prepare(f"http://127.0.0.1:{cloud_port}"), **database}
        if trigger == "sqs":
            variables["TENURE_TRANSPORT"] = "sqs"
        api = await _start(
            *(parts, variables, folder),
            *("uvicorn", "examples.image_service.api:web", "--port", str(port), "--log-level", "warning"),
        )
        await _answers(api, f"http://127.0.0.1:{port}/metrics")
        worker = await _start(
            *(parts, variables, folder),
            *("tenure", "worker", "examples.image_service.jobs:app", "--metrics-port", str(worker_port)),
        )
        await _answers(worker, f"http://127.0.0.1:{worker_port}/readyz")
        print(_where_to_look(port, trigger, folder), flush=True)
        await _first_to_end([cloud, api, worker])


def _where_to_look(port: int, trigger: str, folder: Path) -> str:
    return f"""
the page           http://127.0.0.1:{port}/
the API            http://127.0.0.1:{port}/docs
its metrics        http://127.0.0.1:{port}/metrics
the worker's       http://127.0.0.1:{port + 1}/metrics
the bucket         http://127.0.0.1:{port + 2}/pictures
the jobs           tenure jobs list --database sqlite:///{folder}/jobs.db
logs               {folder}/*.log
triggered by       {"messages in SQS" if trigger == "sqs" else "hints of the store"}
Ctrl-C ends it, and removes {folder}"""


async def _start(
    parts: AsyncExitStack, variables: Mapping[str, str], folder: Path, module: str, *arguments: str
) -> Process:
    log = (folder / f"{module.partition('.')[0]}.log").open("wb")
    process = await create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments), env={**os.environ, **variables}, stdout=log, stderr=log
    )
    log.close()
    parts.push_async_callback(_stop, process)
    return process


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    await process.wait()


async def _answers(process: Process, url: str) -> None:
    """Wait until a part answers; if it ends instead, say so."""
    async with asyncio.timeout(PATIENCE):
        while process.returncode is None:
            try:
                await asyncio.to_thread(urllib.request.urlopen, url, timeout=5)
            except (OSError, urllib.error.URLError):
                await asyncio.sleep(0.1)
            else:
                return
    raise SystemExit(f"a part ended before it answered at {url}: is one of the ports taken?")


async def _first_to_end(processes: list[Process]) -> None:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    waits = [asyncio.ensure_future(one) for one in (told.wait(), *(process.wait() for process in processes))]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m examples.image_service", description=__doc__)
    parser.add_argument("--port", type=int, default=8080, help="of the page; two more follow it")
    parser.add_argument(
        "--trigger", choices=["store", "sqs"], default="store", help="what leads workers to jobs"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="images-") as folder:
        asyncio.run(run(chosen.port, chosen.trigger, Path(folder)))


if __name__ == "__main__":
    main()
