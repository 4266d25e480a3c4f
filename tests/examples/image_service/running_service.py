"""The API and the worker of the image service, each a process, and a client of them."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests import canaries
from tests.ports import free_port
from tests.until import until

ROOT = Path(__file__).parents[3]
ENDED = ("completed", "failed")
NONE: Mapping[str, str] = {}


class ServiceProcess:
    """A process of the service that may be killed and started again."""

    def __init__(self, arguments: list[str], variables: Mapping[str, str], ready: str, log: Path) -> None:
        """It is ready when the address `ready` answers."""
        self._arguments = [sys.executable, "-m", *arguments]
        self._variables = {**os.environ, canaries.VARIABLE: canaries.ENVIRONMENT, **variables}
        self._ready = ready
        self.log = log
        self.running: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self.running = await asyncio.to_thread(
                subprocess.Popen, self._arguments, cwd=ROOT, env=self._variables, stdout=log, stderr=log
            )
        async with httpx.AsyncClient(verify=False) as http:  # noqa: S501
            await until(lambda: self._answers(http))

    def kill(self) -> None:
        if self.running is not None:
            self.running.kill()
            self.running.wait()
            self.running = None

    async def _answers(self, http: httpx.AsyncClient) -> bool:
        assert self.running is not None
        assert self.running.poll() is None, self.log.read_text()
        try:
            return (await http.get(self._ready)).is_success
        except httpx.TransportError:
            return False


class RunningService:
    """API and worker on one database, and a client of the API."""

    def __init__(
        self, variables: Mapping[str, str], folder: Path, of_worker: Mapping[str, str] = NONE
    ) -> None:
        """`of_worker` are variables that the worker has beside those of both."""
        self.url, self.metrics_url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.api = ServiceProcess(
            ["uvicorn", "examples.image_service.api:web", "--port", self.url.rpartition(":")[2]],
            *(variables, f"{self.url}/metrics", folder / "api.log"),
        )
        port = self.metrics_url.rpartition(":")[2]
        self.worker = ServiceProcess(
            ["tenure", "worker", "examples.image_service.jobs:app", "--metrics-port", port],
            *({**variables, **of_worker}, f"{self.metrics_url}/readyz", folder / "worker.log"),
        )
        # Nothing is encrypted here: no certificates are read.
        self.http = httpx.AsyncClient(base_url=self.url, timeout=60, verify=False)  # noqa: S501

    async def upload(self, data: bytes, name: str = "picture", said_type: str = "") -> httpx.Response:
        """Send a picture."""
        headers = {"content-type": said_type} if said_type else {}
        return await self.http.post("/uploads", params={"name": name}, content=data, headers=headers)

    async def view(self, path: str) -> dict[str, Any]:
        """What the API says of an image or a job."""
        answer = (await self.http.get(path)).raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    async def ended(self, path: str, within: float = 60) -> dict[str, Any]:
        """The same, once it has ended."""
        view: dict[str, Any] = {}

        async def has_ended() -> bool:
            nonlocal view
            view = await self.view(path)
            return view["status"] in ENDED

        try:
            await until(has_ended, within=within)
        except TimeoutError:
            raise AssertionError(f"it has not ended after {within:.0f} s: {view}") from None
        return view

    async def published(self, data: bytes, name: str = "picture") -> dict[str, Any]:
        """Send a picture and wait until it has ended."""
        answer = await self.upload(data, name)
        assert answer.is_success, answer.text
        return await self.ended(answer.headers["location"])

    async def followed(self, path: str) -> list[dict[str, Any]]:
        """All that a stream of events says, until it ends."""
        async with self.http.stream("GET", path) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            return [json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: ")]


@asynccontextmanager
async def running_service(
    variables: Mapping[str, str], folder: Path, of_worker: Mapping[str, str] = NONE
) -> AsyncIterator[RunningService]:
    service = RunningService(variables, folder, of_worker)
    try:
        await service.api.start()
        await service.worker.start()
        yield service
    finally:
        await service.http.aclose()
        service.worker.kill()
        service.api.kill()
