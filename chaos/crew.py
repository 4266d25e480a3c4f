"""The processes of a run that is after one thing alone: killed, frozen and restarted, and always replaced."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from msgspec import Struct

from chaos import failpoints
from chaos.faults.workers import is_locked
from chaos.ground import Ground
from tests import faketime

ROOT = Path(__file__).parents[1]
SHIFTS = ("-1d", "-1h", "+1h", "+1d")
LONGEST_FREEZE = 4.0
IN_A_WRITE = 1.0
"""Seconds for which one is frozen at most that has the only lock of an SQLite file."""

PATIENCE = 60.0


class Trade(Struct, frozen=True, kw_only=True):
    """What the processes of a run do: each a command of Tenure's, with failpoints armed."""

    side: failpoints.Side
    roles: dict[str, tuple[str, ...]]
    """The commands, with what each is given."""
    order: tuple[str, ...]
    """Which of them run, for as many as are wanted."""
    armed: tuple[str, ...]
    """Where some of them fail by themselves; `{n}` is the passing."""
    variables: dict[str, str] = {}


@dataclass(eq=False)
class Member:
    """One process. It is `steady` once it has said something, and then worth striking."""

    role: str
    process: asyncio.subprocess.Process
    log: Path
    fired: Path
    is_frozen: bool = False

    @property
    def is_steady(self) -> bool:
        """Whether it serves, and nothing has hold of it."""
        return self.process.returncode is None and not self.is_frozen and self.log.stat().st_size > 0

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it is still there."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)


class Crew:
    """Keeps as many as the run wants, whatever becomes of them; `strikes` counts what was done to them."""

    def __init__(self, trade: Trade, ground: Ground, folder: Path, size: int, random: Random) -> None:
        self.members: list[Member] = []
        self.strikes: Counter[str] = Counter()
        self._trade = trade
        self._ground = ground
        self._folder = folder
        self._size = size
        self._random = random
        self._minding: set[asyncio.Task[None]] = set()
        self._hired = 0
        self._is_open = True
        self._is_calm = False

    async def open(self) -> None:
        """Start all, and return when each serves."""
        for place in range(self._size):
            await self._hire(self._trade.order[place % len(self._trade.order)], is_first=True)
        await self.all_steady()

    async def all_steady(self) -> None:
        """Return when as many as are wanted serve."""
        async with asyncio.timeout(PATIENCE):
            while sum(member.is_steady for member in self.members) < self._size:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def strike(self, every: float) -> None:
        """Harm one after the other, until cancelled; what is frozen goes on then."""
        async with asyncio.TaskGroup() as freezes:
            while True:
                await asyncio.sleep(every * self._random.uniform(0.5, 1.5))
                steady = [member for member in self.members if member.is_steady]
                if not steady:
                    continue
                member = self._random.choice(steady)
                match self._random.choice(("kill", "freeze", "freeze", "restart")):
                    case "kill":
                        member.send(signal.SIGKILL)
                        self.strikes["kill"] += 1
                    case "restart":
                        member.send(signal.SIGTERM)
                        self.strikes["restart"] += 1
                    case _:
                        freezes.create_task(self._freeze(member, self._random.uniform(0.5, LONGEST_FREEZE)))

    def calm(self) -> None:
        """From now on nobody who is new fails by itself."""
        self._is_calm = True

    async def close(self) -> None:
        """Tell all to stop, and wait until they have; who does not is killed."""
        self._is_open = False
        for member in self.members:
            member.send(signal.SIGCONT)
            member.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._minding:
                    await asyncio.wait(self._minding)
        for member in self.members:
            member.send(signal.SIGKILL)
        if self._minding:
            await asyncio.wait(self._minding)
        for member in self.members:
            self.strikes.update(f"at {one.name}" for one in failpoints.fired(member.fired))

    async def _freeze(self, member: Member, seconds: float) -> None:
        member.is_frozen = True
        member.send(signal.SIGSTOP)
        try:
            if await asyncio.to_thread(is_locked, self._ground.path):
                seconds = min(seconds, IN_A_WRITE)
                self.strikes["freeze in a write"] += 1
            self.strikes["freeze"] += 1
            await asyncio.sleep(seconds)
        finally:
            member.send(signal.SIGCONT)
            member.is_frozen = False

    async def _hire(self, role: str, *, is_first: bool = False) -> None:
        self._hired += 1
        number = self._hired  # others may be hired before this one is a member
        log, fired = self._folder / f"{role}-{number}.log", self._folder / f"fired-{number}"
        fired.mkdir()
        variables = {failpoints.FIRED: str(fired), "NO_COLOR": "1", **self._trade.variables}
        if not is_first and not self._is_calm:
            variables |= await self._flaw()
        began = time.monotonic()
        with log.open("wb") as written:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "chaos.process", self._trade.side, role, *self._trade.roles[role]),
                *("--database", self._ground.address),
                cwd=ROOT,
                env={**os.environ, **variables},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                start_new_session=True,
            )
        member = Member(role, process, log, fired)
        self.members.append(member)
        minding = asyncio.create_task(self._mind(member, began))
        self._minding.add(minding)
        minding.add_done_callback(self._minding.discard)

    async def _flaw(self) -> dict[str, str]:
        """What a new one is given to fail by, if anything: a failpoint, or a clock that is wrong."""
        flaws = [
            {},
            *(
                {failpoints.VARIABLE: armed.format(n=self._random.randint(2, 12))}
                for armed in self._trade.armed
            ),
        ]
        if self._ground.kind == "postgres":  # on SQLite the machine's clock is the store's
            library = str(await asyncio.to_thread(faketime.library))
            shift = {"FAKETIME": self._random.choice(SHIFTS), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
            flaws.append({"LD_PRELOAD": library, **shift})
        chosen = self._random.choice(flaws)
        self.strikes["wrong clock"] += "FAKETIME" in chosen
        return chosen

    async def _mind(self, member: Member, began: float) -> None:
        await member.process.wait()
        if self._is_open:
            await asyncio.sleep(max(0.0, 0.2 - (time.monotonic() - began)))
            await self._hire(member.role)
