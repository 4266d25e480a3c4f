"""The worker processes of a run: started, replaced when they end, and told to stop when it is over."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from chaos import app, failpoints, foreign, shop
from chaos.evidence import Secret, Stay
from chaos.machine import Span
from chaos.messages import passages
from chaos.worker import Told
from tenure.storage.contract.store import Store

ROOT = Path(__file__).parent.parent
PATIENCE = 60.0
"""Seconds within which a worker has long started, or stopped when it was told to."""


@dataclass(frozen=True)
class StaffConfig:
    """How the workers of a run work."""

    workers: int = 3
    foreign: int = 0
    """How many more there are in JavaScript."""
    slots: int = 4
    lease: float = 2.0
    shutdown: float = 1.0


@dataclass(eq=False)
class Hand:
    """One worker process."""

    number: int
    process: asyncio.subprocess.Process
    signals: Path
    fired: Path
    """Where its failpoints leave word."""
    started_at: float
    is_regular: bool = True
    """Whether another one takes its place when it has ended."""
    is_foreign: bool = False
    """Whether it is one in JavaScript, whose attempts are part of itself."""
    special: dict[str, str] | None = None
    """The variables that it alone was given."""
    stop_at: float | None = None
    is_forced: bool = False
    ended_at: float | None = None
    afflicted: bool = False
    """Whether a fault has hold of it; no other one takes it then."""
    _name: str | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    @property
    def name(self) -> str | None:
        """The name that it gave itself, once it serves."""
        if self._name is None:
            for told in self.told("WorkerReady"):
                self._name = str(told.told["worker"]["id"])
        return self._name

    def told(self, kind: str | None = None) -> list[Told]:
        """The signals that it has given so far, or those of one kind."""
        if not self.signals.exists():
            return []
        whole, _, _ = self.signals.read_bytes().rpartition(b"\n")
        lines: list[Told] = msgspec.json.Decoder(Told).decode_lines(whole)
        return [told for told in lines if kind in {None, told.kind}]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the worker alone, if it is still there."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.kill(
                    self.pid, number
                )  # asyncio's own way may reap it, and then nobody knows its exit code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Tell it to stop; told twice, it stops at once."""
        self.is_forced = self.stop_at is not None
        self.stop_at = self.stop_at or time.monotonic()
        self.send(number)

    def stay(self, held_up: Sequence[Span], frozen: Sequence[Span], starved: Sequence[Span]) -> Stay | None:
        """Its life as evidence, and when it was kept from its work; None for one that never served."""
        if (name := self.name) is None:
            return None
        code = self.process.returncode
        return Stay(
            worker=name,
            pid=self.pid,
            started_at=self.started_at,
            stop_at=self.stop_at,
            ended_at=self.ended_at,
            exit_code=code,
            killed=code == -signal.SIGKILL,
            forced=self.is_forced,
            held_up=list(held_up),
            frozen=list(frozen),
            starved=list(starved),
        )


class Staff:
    """Keeps as many workers as the run wants, whatever becomes of them."""

    def __init__(
        self,
        address: str,
        folder: Path,
        cookie: str,
        config: StaffConfig,
        private: str = "",
        messages: Mapping[str, str] | None = None,
        charged: str = "",
    ) -> None:
        """`private` is a secret in the environment of workers, which is not for their jobs.

        `messages` are the variables that lead workers to a broker, if there is one; `charged` is where jobs
        have transactions of their own, if they have any.
        """
        self.config = config
        self._private = private
        self._messages = messages
        self._charged = charged
        self.cookie = cookie
        self.hands: list[Hand] = []
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self._address = address
        self._folder = folder
        self._minding: set[asyncio.Task[None]] = set()
        self._is_open = True
        self._count = 0
        # To start is what costs most: more at a time would starve those who work.
        self._starting = asyncio.Semaphore(2)
        self.foreign: foreign.Foreign | None = None
        """What those in JavaScript need, if there are any."""
        self.environment: list[dict[str, str]] = []
        """Further variables for the next workers, one each."""

    async def open(self) -> None:
        """Start them, and return when all of them serve."""
        for _ in range(self.config.workers):
            await self._hire()
        await self.serve()

    async def employ(self, store: Store, armed: str, ends: AsyncExitStack) -> Secret:
        """Start those in JavaScript, too, with a server until the end; the answer is their key."""
        self.foreign = await foreign.opened(store, self._address, self._folder / "leasing", armed, ends)
        for _ in range(self.config.foreign):
            await self._hire(is_foreign=True)
        await self.serve()
        return Secret("the key of foreign workers", self.foreign.key)

    async def serve(self) -> None:
        """Return when as many as are wanted serve."""
        wanted = self.config.workers + (self.config.foreign if self.foreign else 0)
        async with asyncio.timeout(PATIENCE):
            while len(self._serving()) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    def alive(self) -> list[Hand]:
        """Those that have not ended."""
        return [hand for hand in self.hands if hand.is_alive]

    def victim(self, random: Random) -> Hand | None:
        """One that serves and that nothing else has hold of; None where nobody would be left unharmed."""
        free = [hand for hand in self._serving() if not hand.afflicted and hand.stop_at is None]
        return random.choice(free) if len(free) > 1 else None

    async def has_come(self, special: dict[str, str]) -> bool:
        """Whether somebody serves, or has, who was given these variables; waits as long as that may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not any(hand.special is special and hand.name for hand in self.hands):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
                return True
        return False

    async def hire_another(self, armed: str, ends_at: float) -> Hand | None:
        """Start one more, with failpoints, that nobody replaces: when it serves or has ended.

        None where others who had to start first took too long.
        """
        async with self._starting:
            if time.monotonic() >= ends_at:
                return None
            hand = await self._hire(armed, is_regular=False)
            while hand.is_alive and hand.name is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return hand

    def _serving(self) -> list[Hand]:
        return [hand for hand in self.alive() if hand.is_regular and hand.name]

    async def close(self) -> None:
        """Tell all to stop, and wait until they have; who does not is killed, and its stay shows it."""
        self._is_open = False
        for hand in self.alive():
            hand.send(signal.SIGCONT)
            hand.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while self._minding:
                    await asyncio.wait(self._minding)
        for hand in self.alive():
            hand.process.kill()
        if self._minding:
            await asyncio.wait(self._minding)

    async def _hire(self, armed: str = "", *, is_regular: bool = True, is_foreign: bool = False) -> Hand:
        number = self._count = self._count + 1
        fired = self._folder / f"fired-{number}"
        fired.mkdir()
        special = self.environment.pop(0) if self.environment and not is_foreign else None
        own = self.foreign.environment(self.config.slots, self.config.lease) if self.foreign else {}
        signals = self._folder / f"worker-{number}.signals"
        with (self._folder / f"worker-{number}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command(signals, is_foreign=is_foreign),
                cwd=ROOT,
                env={**self._environment(number, armed, fired, special or {}), **(own if is_foreign else {})},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        hand = Hand(number, process, signals, fired, time.monotonic(), is_regular, is_foreign, special)
        self.hands.append(hand)
        minding = asyncio.create_task(self._mind(hand))
        self._minding.add(minding)
        minding.add_done_callback(self._minding.discard)
        return hand

    async def _mind(self, hand: Hand) -> None:
        """Replace it when it has ended, as whatever starts workers in production does."""
        await hand.process.wait()
        hand.ended_at = time.monotonic()
        if self._is_open and hand.is_regular:
            if hand.name is None:
                await asyncio.sleep(0.2)  # it could not even start: the database may be away
            await self._hire(is_foreign=hand.is_foreign)

    def _command(self, signals: Path, *, is_foreign: bool) -> Sequence[str]:
        config = self.config
        if is_foreign and self.foreign is not None:
            return self.foreign.command(signals)
        target = "chaos.shop:app" if self._charged else "chaos.app:app"
        return (
            *(sys.executable, "-m", "chaos.worker", str(signals), target),
            *("--database", self._address, "--slots", str(config.slots)),
            *("--lease-seconds", str(config.lease), "--shutdown-seconds", str(config.shutdown)),
        )

    def _environment(self, number: int, armed: str, fired: Path, special: dict[str, str]) -> dict[str, str]:
        given = {
            app.PRIVATE: self._private,
            # To offer what it counts makes a worker slower to start: some are enough.
            **({"TENURE_METRICS_PORT": "0"} if number % 3 == 1 else {}),
            app.COOKIE: self.cookie,
            app.LEDGER: str(self._folder / "ledger"),
            failpoints.FIRED: str(fired),
            failpoints.VARIABLE: armed,
            "TMPDIR": str(self.temporary),
            "NO_COLOR": "1",
            "TENURE_CHILD_SIGNALS": "any",  # some of its jobs kill those above them
            **self._led(number),
            **({shop.ADDRESS: self._charged} if self._charged else {}),
            **{f"TENURE_{lane}_SLOTS": str(self.config.slots) for lane in ("WARM", "ASYNC", "THREAD")},
        }
        names = ",".join([app.COOKIE, app.LEDGER, failpoints.FIRED, failpoints.VARIABLE, *special])
        return {**os.environ, **given, **special, "TENURE_CHILD_ENV": names}

    def _led(self, number: int) -> Mapping[str, str]:
        if self._messages is None:
            return {}
        return {**self._messages, passages.VARIABLE: str(self._folder / f"worker-{number}.passages")}
