"""`tenure api` as a run starts it, with failpoints armed; and a few of them, each replaced when it is killed.

python -m chaos.api [arguments of `tenure api`]
"""

import asyncio
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

from chaos import failpoints
from tenure import assemble

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0


class Door:
    """One server: its process, and where it is reached."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url

    @classmethod
    async def open(cls, address: str, fired: Path, armed: str = "") -> "Door":
        """Start one on a database; returns when it listens. `armed` names failpoints."""
        fired.mkdir(parents=True, exist_ok=True)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "chaos.api", "--port", "0", "--database", address),
            cwd=ROOT,
            env={**os.environ, failpoints.VARIABLE: armed, failpoints.FIRED: str(fired)},
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                return cls(process, await _url(process))
        except BaseException:
            process.kill()
            await process.wait()
            raise

    async def kill(self) -> None:
        """End it without a word."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


async def _url(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None  # noqa: S101
    line = (await process.stderr.readline()).decode()
    found = re.match(r"(http://\S+) on ", line)
    if found is None:
        raise RuntimeError(line + (await process.stderr.read()).decode())
    return found[1]


class Doors:
    """Servers of one database, each replaced when it has died. Whoever asks is sent to one by chance."""

    def __init__(self, address: str, folder: Path, seed: int, armed: str) -> None:
        """`armed` names the failpoints of each."""
        self._address = address
        self._folder = folder
        self._armed = armed
        self._random = Random(f"doors {seed}")
        self._doors: list[Door] = []
        self.died = 0

    async def open(self, count: int) -> None:
        """Start so many."""
        for _ in range(count):
            self._doors.append(await Door.open(self._address, self._folder, self._armed))

    def any(self) -> str:
        """Where to ask, be it alive or not."""
        return self._random.choice(self._doors).url

    async def keep(self, place: int) -> None:
        """Have another in the place of one that has died, until cancelled."""
        while True:
            await self._doors[place].process.wait()
            self.died += 1
            self._doors[place] = await Door.open(self._address, self._folder, self._armed)

    async def close(self) -> None:
        """End them all."""
        for door in self._doors:
            await door.kill()


def main() -> None:
    """Arm, and be a server."""
    failpoints.arm("api")
    sys.argv = ["tenure", "api", *sys.argv[1:]]
    assemble.main()


if __name__ == "__main__":
    main()
