"""`tenure api` as a run starts it, with failpoints armed; and a few of them, each replaced when it is killed.

python -m chaos.api [arguments of `tenure api`]
"""

import asyncio
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

from chaos import failpoints
from chaos.machine import Span
from tenure.__main__ import main as main_of_tenure

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0


class NotOpened(Exception):
    """A server ended before it listened; what it said."""


class Door:
    """One server: its process, and where it is reached."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url

    @classmethod
    async def open(
        cls,
        address: str,
        folder: Path,
        armed: str = "",
        environment: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> "Door":
        """Start one on a database; returns when it listens. `armed` names failpoints.

        In the folder it writes its log, and its failpoints leave word.
        """
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / f"api-{len([*folder.glob('api-*.log')]) + 1}.log"
        armour = {failpoints.VARIABLE: armed, failpoints.FIRED: str(folder)}
        with log.open("wb") as written:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "chaos.api", "--port", str(port), "--database", address),
                cwd=ROOT,
                env={**os.environ, **(environment or {}), **armour},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=written,
                stderr=written,
            )
        try:
            async with asyncio.timeout(PATIENCE):
                return cls(process, await _url(process, log))
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise

    async def kill(self) -> None:
        """End it without a word."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


async def _url(process: asyncio.subprocess.Process, log: Path) -> str:
    while True:
        has_ended, said = process.returncode is not None, log.read_text(errors="replace")
        if found := re.search(r"^(http://\S+) on ", said, re.MULTILINE):
            return found[1]
        if has_ended:
            raise NotOpened(said)
        await asyncio.sleep(0.02)  # a file is no event


class Doors:
    """Servers of one database, each replaced when it has died. Whoever asks is sent to one by chance."""

    def __init__(
        self,
        address: str,
        folder: Path,
        armed: str,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
    ) -> None:
        """`armed` names the failpoints of each; with a port there can be one, which is always found there."""
        self.folder = folder
        self._address = address
        self._armed = armed
        self._environment = environment
        self._port = port
        self._away: list[Span] = []
        self._gone: dict[int, float] = {}
        self._random = Random(folder.name)
        self._doors: list[Door] = []
        self._keeping: list[asyncio.Task[None]] = []

    async def open(self, count: int) -> None:
        """Start so many, and replace each that dies until they are closed."""
        self._doors = list(await asyncio.gather(*(self._open() for _ in range(count))))
        self._keeping = [asyncio.create_task(self._keep(place)) for place in range(count)]

    def victim(self, random: Random) -> Door | None:
        """One that lives, unless it is the only one."""
        alive = [door for door in self._doors if door.process.returncode is None]
        return random.choice(alive) if len(alive) > 1 else None

    async def restart(self) -> None:
        """Kill the first one, and return when another has taken its place."""
        door = self._doors[0]
        await door.kill()
        async with asyncio.timeout(PATIENCE):
            while self._doors[0] is door:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    def absences(self) -> list[Span]:
        """When one of them was away, by CLOCK_MONOTONIC."""
        return [*self._away, *((since, time.monotonic()) for since in self._gone.values())]

    def any(self) -> str:
        """Where to ask, be it alive or not."""
        return self._random.choice(self._doors).url

    async def close(self) -> None:
        """End them all."""
        for task in self._keeping:
            task.cancel()
        if self._keeping:
            await asyncio.wait(self._keeping)
        for door in self._doors:
            await door.kill()

    async def _keep(self, place: int) -> None:
        """Have another in the place of one that has died, until cancelled."""
        while True:
            await self._doors[place].process.wait()
            self._gone[place] = time.monotonic()
            self._doors[place] = await self._reopened()
            self._away.append((self._gone.pop(place), time.monotonic()))

    async def _reopened(self) -> Door:
        while True:
            try:
                return await self._open()
            except NotOpened:
                await asyncio.sleep(0.2)  # the database may be away

    async def _open(self) -> Door:
        return await Door.open(self._address, self.folder, self._armed, self._environment, self._port)


def main() -> None:
    """Arm, and be a server."""
    failpoints.arm("api")
    sys.argv = ["tenure", "api", *sys.argv[1:]]
    main_of_tenure()


if __name__ == "__main__":
    main()
