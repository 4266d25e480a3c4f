"""`tenure worker` as a process, and the ledger that its jobs write."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.until import until
from tests.worker.running_worker import PATIENCE, ROOT

PROGRAM = "tests.worker.ledger_app:app"


class Entry(NamedTuple):
    """A line of the ledger."""

    what: str
    fence: int
    pid: int
    at: float


class Ledger:
    """What jobs have done, in a file outside the database; and the file that lets them end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "ledger"
        self._end = folder / "end"

    @property
    def params(self) -> dict[str, str]:
        """The params of a job."""
        return {"ledger": str(self._path), "end": str(self._end)}

    def let_go(self) -> None:
        """Let the jobs that wait end."""
        self._end.touch()

    def entries(self, what: str) -> list[Entry]:
        """The lines of one kind so far."""
        return [entry for entry in self.every_entry() if entry.what == what]

    def every_entry(self) -> list[Entry]:
        """All lines so far."""
        found = [line.split() for line in _lines(self._path)]
        return [Entry(kind, int(fence), int(pid), float(at)) for kind, fence, pid, at in found]

    def last_tick(self, pid: int) -> float:
        """The last tick of a job that ticks, by the monotonic clock."""
        return float(_lines(self._path.with_name(f"{self._path.name}-{pid}"))[-1])

    async def reach(self, what: str, count: int) -> list[Entry]:
        """Wait until there are so many lines of a kind."""
        await until(lambda: len(self.entries(what)) >= count)
        return self.entries(what)


class Command:
    """A worker that runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.output: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            # Not through asyncio, which may reap it: its exit code would then be lost.
            os.kill(self.pid, number)

    async def wait_for(self, words: str) -> str:
        """Wait for a line with these words on standard error."""
        assert self._process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while not any(words in line for line in self.output):
                line = await self._process.stderr.readline()
                if not line:
                    raise AssertionError(f"it ended without a line with {words!r}: {self.output}")
                self.output.append(line.decode())
        return next(line for line in self.output if words in line)

    async def ended(self) -> int:
        """Its exit code, once it has ended."""
        assert self._process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            self.output += (await self._process.stderr.read()).decode().splitlines(keepends=True)
            return await self._process.wait()


@asynccontextmanager
async def worker_process(
    address: str, *flags: str, target: str = PROGRAM, module: str = "tenure", **variables: str
) -> AsyncIterator[Command]:
    """A worker's process, from its start on; killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, "worker", target, "--database", address, *flags),
        cwd=ROOT,
        # Some of their jobs kill the processes above them.
        env={**os.environ, "NO_COLOR": "1", "TENURE_CHILD_SIGNALS": "any", **variables},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Command(process)
    finally:
        if process.returncode is None:
            process.kill()
            # For asyncio it has not ended before all of its output was read.
            await process.communicate()


def _lines(path: Path) -> list[str]:
    """The complete lines of a file that a process may still write to."""
    text = path.read_text() if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def descendants(pid: int) -> list[int]:
    """Every process below one, parents first."""
    return [one for generation in generations(pid) for one in generation]


def generations(pid: int) -> list[list[int]]:
    """The processes below one: its children, the children of these, and so on."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            # It has ended since it was listed.
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found, next_ones = list[list[int]](), [pid]
    while next_ones := [child for parent in next_ones for child in children.get(parent, [])]:
        found.append(next_ones)
    return found
