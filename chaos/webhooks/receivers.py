"""The receivers of a run: processes that are killed and come back at the same port."""

import asyncio
import signal
import socket
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

from chaos.crew import ROOT
from chaos.webhooks.told import ReceivedLog

AWAY = 0.3
"""Seconds for which one is away that was killed."""


class Receivers:
    """Keeps receivers running; `log` is what they wrote down, `strikes` counts what was done to them."""

    def __init__(self, folder: Path, count: int, random: Random) -> None:
        self.ports = [_free_port() for _ in range(count)]
        self.log = ReceivedLog(folder)
        self.strikes: Counter[str] = Counter()
        self._folder = folder
        self._random = random
        self._calm = folder / "calm"
        self._running: dict[int, asyncio.subprocess.Process] = {}

    async def open(self) -> None:
        """Start all."""
        for port in self.ports:
            await self._start(port)

    async def strike(self, every: float) -> None:
        """Kill one after the other, until cancelled."""
        while True:
            await asyncio.sleep(every * self._random.uniform(0.5, 1.5))
            port = self._random.choice(self.ports)
            try:
                await self._kill(port)
                await asyncio.sleep(self._random.uniform(0, AWAY))
            finally:
                await self._start(port)
            self.strikes["kill a receiver"] += 1

    def calm(self) -> None:
        """From now on they answer 200 to everything."""
        self._calm.touch()

    async def close(self) -> None:
        """Kill all."""
        for port in self.ports:
            await self._kill(port)

    async def _start(self, port: int) -> None:
        file = self._folder / f"received-{port}"
        self._running[port] = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "chaos.webhooks.receiver", str(port), str(file), str(self._calm)),
            cwd=ROOT,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def _kill(self, port: int) -> None:
        process = self._running.get(port)
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        await process.wait()


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port
