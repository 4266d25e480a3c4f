"""One run's stage: its database, its workers, its client, somebody who watches, and what is left behind."""

import asyncio
import math
import secrets
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.app import app
from chaos.client import Client
from chaos.evidence import Leftovers, Outage, Watch
from chaos.ground import Ground, Kind, prepared
from chaos.load import Wanted
from chaos.machine import Machine, children
from chaos.measuring import Measures
from chaos.staff import Manner, Staff
from tenure.core.errors import StoreError
from tenure.core.job import NewJob
from tenure.core.reading import Filter
from tenure.core.states import FINAL, State
from tenure.storage.address import open_store
from tenure.storage.contract import Store
from tests.storage.faults.own_server import OwnServer

LOOK_EVERY = 0.25
MEASURE_EVERY = 0.5
FEEL_EVERY = 0.1
PIPES_GONE_WITHIN = 30
"""Looks within which a worker has closed what was an attempt's."""
GONE_WITHIN = 10.0
"""Seconds within which whoever is to go with a worker has gone."""
UNFINISHED = frozenset(State) - FINAL


@dataclass
class Scene:
    """What faults act on. `store` reaches the database by a way that no fault harms but its own absence."""

    folder: Path
    ground: Ground
    staff: Staff
    client: Client
    store: Store
    watch: Watch = field(default_factory=Watch)
    measures: Measures = field(default_factory=Measures)
    outages: list[Outage] = field(default_factory=list)
    ends_at: float = math.inf
    """When faults strike no more and the client asks for nothing more, by CLOCK_MONOTONIC."""
    aims: tuple[str, ...] = ()
    """The failpoints to aim at; empty for all of them."""
    aimed: Counter[str] = field(default_factory=Counter)
    """How often each failpoint was aimed at."""
    tried: Counter[str] = field(default_factory=Counter)
    """How often somebody served who was armed with it."""
    restarting: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by who stops the database."""
    machine: Machine = field(default_factory=Machine)
    extra: int = 0
    """How many times a fault has asked for jobs of its own."""

    async def keep_watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            with suppress(StoreError):
                await self.watch.look(self.store)
            await asyncio.sleep(LOOK_EVERY)

    async def measure(self) -> None:
        """Measure the workers that serve, until cancelled."""
        while True:
            for hand in self.staff.alive():
                if (name := hand.name) is not None:
                    self.measures.take(name, hand.pid)
            await asyncio.sleep(MEASURE_EVERY)

    async def pipes_left(self) -> list[str]:
        """The workers that still have pipes of attempts though nothing runs, in words."""
        left: list[str] = []
        for _ in range(PIPES_GONE_WITHIN):
            left = [
                f"{hand.name} has {pipes} pipe(s) more than it needs"
                for hand in self.staff.alive()
                if hand.name and (pipes := self.measures.pipes_left(hand.name, hand.pid)) > 0
            ]
            if not left:
                break
            await asyncio.sleep(0.1)
        return left

    async def feel_the_machine(self) -> None:
        """Note when there was no time for everybody, until cancelled."""
        while True:
            due = time.monotonic() + FEEL_EVERY
            await asyncio.sleep(FEEL_EVERY)
            late, server = time.monotonic() - due, self.ground.server
            serving = children(server.pid) if server is not None and server.pid is not None else []
            self.machine.look([hand.pid for hand in self.staff.alive()], late, serving)

    async def come_to_rest(self, seconds: float) -> bool:
        """Wait until every job has ended; whether they did in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                empty = 0
                while empty < 2:  # a job that moves while somebody pages through may be missed once
                    with suppress(StoreError):
                        empty = 0 if await self._unfinished() else empty + 1
                    await asyncio.sleep(0.1)
                return True
        return False

    async def _unfinished(self) -> bool:
        after = None
        while True:
            page = await self.store.page(Filter(states=UNFINISHED), after=after, limit=200)
            if page.jobs:
                return True
            if (after := page.next) is None:
                return False


@asynccontextmanager
async def staged(
    kind: Kind, folder: Path, manner: Manner, server: OwnServer | None = None
) -> AsyncIterator[Scene]:
    """A scene in an empty folder, its workers at work."""
    folder.mkdir(parents=True)
    cookie = f"chaos-{secrets.token_hex(8)}"
    async with prepared(kind, folder, server) as ground:
        staff = Staff(ground.address, folder, cookie, manner)
        speaking, looking = await open_store(ground.address), await open_store(ground.direct)
        client = Client(speaking, folder / "history", new_job)
        try:
            await staff.open()
            yield Scene(folder, ground, staff, client, looking)
        finally:
            await staff.close()
            client.close()
            await speaking.close()
            await looking.close()


def new_job(wanted: Wanted) -> NewJob:
    """What the plan wants, as its definition makes it."""
    options = {} if wanted.delay is None else {"delay": wanted.delay}
    return app.new_job(
        wanted.definition,
        wanted.params or None,
        idempotency_key=wanted.key,
        priority=wanted.priority,
        hold=wanted.hold,
        **options,  # type: ignore[arg-type]
    )


async def left_over(scene: Scene, descriptors: list[str]) -> Leftovers:
    """What is still there after all workers have ended and should not be."""
    with suppress(TimeoutError):
        async with asyncio.timeout(GONE_WITHIN):
            while await asyncio.to_thread(carriers, scene.staff.cookie):  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # their end is no event of ours
    return Leftovers(
        processes=await asyncio.to_thread(carriers, scene.staff.cookie),
        leases=await _leased(scene.store),
        folders=sorted(path.name for path in scene.staff.temporary.iterdir()),
        descriptors=descriptors,
    )


async def _leased(store: Store) -> list[str]:
    found, after = [], None
    while True:
        page = await store.page(Filter(states=frozenset({State.RUNNING, State.CANCELLING})), after=after)
        found += [f"{job.definition} {job.id} is {job.state}" for job in page.jobs]
        if (after := page.next) is None:
            return found


def carriers(cookie: str) -> list[str]:
    """Processes that carry a run's cookie in their environment; those that have ended do not count."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if cookie.encode() in (path / "environ").read_bytes():
                words = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{path.name}: {words.strip()}")
    return found


def clear(folder: Path) -> None:
    """Remove a scene's folder; of a run that was cut short, guards may still be removing theirs in it."""
    ends_at = time.monotonic() + GONE_WITHIN
    while folder.exists() and time.monotonic() < ends_at:
        shutil.rmtree(folder, ignore_errors=True)
