"""One run's stage: its database, its workers, its client, somebody who watches, and what is left behind."""

import asyncio
import math
import os
import re
import secrets
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple, cast

import httpx

from chaos.api import Doors
from chaos.app import PRIVATE
from chaos.client import Client
from chaos.evidence import Leftovers, Outage, Reply, Secret, Watch, Writing
from chaos.ground import Ground, Kind, prepared
from chaos.http_store import HttpStore
from chaos.load import PASSWORD, Wanted
from chaos.machine import Machine, children
from chaos.measuring import Measures
from chaos.messages import passages
from chaos.messages.broker import Broker
from chaos.messages.passages import Passage
from chaos.shop import app
from chaos.staff import Staff, StaffConfig
from chaos.tenants import NAMESPACES, Tenant, with_key
from tenure.core.errors import StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.states import UNFINISHED, State
from tenure.core.reports.reading import Filter
from tenure.storage.address import open_store
from tenure.storage.contract.store import Store
from tests.storage.faults.own_server import OwnServer

LOOK_EVERY = 0.25
MEASURE_EVERY = 0.5
FEEL_EVERY = 0.1
SCRAPE_EVERY = 1.0
LOOKED_AT = 2
"""How many jobs of each client are looked at, in the end, in every way there is."""
PIPES_GONE_WITHIN = 30
"""Looks within which a worker has closed what was an attempt's."""
GONE_WITHIN = 10.0
"""Seconds within which whoever is to go with a worker has gone."""


@dataclass
class Scene:
    """What faults act on. `store` reaches the database by a way that no fault harms but its own absence."""

    folder: Path
    ground: Ground
    staff: Staff
    client: Client
    store: Store
    doors: Doors | None = None
    """The servers, if there are any."""
    broker: Broker | None = None
    """Whose messages lead workers to jobs, if any do."""
    tenants: list[Tenant] = field(default_factory=list)
    """Those who use them, the operator last."""
    replies: list[Reply] = field(default_factory=list)
    secrets: list[Secret] = field(default_factory=list)
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

    @property
    def clients(self) -> list[Client]:
        """All who ask for jobs: by the library first."""
        return [self.client, *(tenant.client for tenant in self.tenants if tenant.namespace)]

    async def listen(self, seed: int) -> None:
        """Let tenants pry, and take what a worker has counted, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for tenant in self.tenants:
                if tenant.namespace:
                    marks = [other.mark for other in self.tenants if other is not tenant]
                    random = Random(f"prying {seed} {tenant.namespace}")
                    tasks.create_task(tenant.pry(self._others(tenant), marks, random))
            while True:
                await asyncio.sleep(SCRAPE_EVERY)
                await self.scrape()

    async def scrape(self) -> None:
        """Take down what workers have counted, of those who tell."""
        async with httpx.AsyncClient(trust_env=False, verify=False) as scraper:  # noqa: S501
            for log in self.folder.glob("worker-*.log"):
                if found := re.search(r"metrics at (http://\S+)", log.read_text(errors="replace")):
                    with suppress(httpx.TransportError):  # it has ended
                        log.with_suffix(".metrics").write_text((await scraper.get(found[1])).text)

    async def look_around(self) -> None:
        """Let everybody ask everything: tenants about others' jobs, the operator about all."""
        await self.scrape()
        async with asyncio.TaskGroup() as looking:
            for tenant in self.tenants:
                some = [job for other in self._others(tenant) for job in other.jobs[-LOOKED_AT:]]
                looking.create_task(tenant.look_at(some))

    def _others(self, tenant: Tenant) -> list[Client]:
        return [client for client in self.clients if client is not tenant.client]

    async def keep_watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            with suppress(StoreError):
                await self.watch.look(self.store)
            await asyncio.sleep(LOOK_EVERY)

    async def measure(self) -> None:
        """Measure the workers of Tenure's own that serve, until cancelled."""
        while True:
            for hand in self.staff.alive():
                if (name := hand.name) is not None and not hand.is_foreign:
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
            if self.ground.relay is not None:
                serving.append(os.getpid())  # on whose loop the relay is
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


class Opened(NamedTuple):
    """How many servers a scene has, and the failpoints of each, and of the one of foreign workers."""

    servers: int = 0
    armed: str = ""
    leasing: str = ""
    messages: bool = False
    """Whether messages lead workers to jobs."""


@asynccontextmanager
async def staged(
    kind: Kind,
    folder: Path,
    config: StaffConfig,
    server: OwnServer | None = None,
    opened: Opened = Opened(),  # noqa: B008
) -> AsyncIterator[Scene]:
    """A scene in an empty folder, its workers at work."""
    folder.mkdir(parents=True)
    cookie = f"chaos-{secrets.token_hex(8)}"
    planted = [
        Secret("the password of jobs", PASSWORD),
        Secret("the password of the database", f"planted-in-address-{secrets.token_hex(8)}"),
        Secret("the token of workers", f"planted-in-environment-{secrets.token_hex(8)}"),
    ]
    _, password, private = (secret.text for secret in planted)
    async with prepared(kind, folder, server, password) as ground, AsyncExitStack() as ends:
        broker = await _open_broker(ends) if opened.messages else None
        led = None if broker is None else broker.variables
        staff = Staff(ground.address, folder, cookie, config, private, led, ground.shop)
        speaking, looking = await open_store(ground.address), await open_store(ground.direct)
        ends.push_async_callback(looking.close)
        ends.push_async_callback(speaking.close)
        client = Client(speaking, folder / "history", new_job)
        ends.callback(client.close)
        ends.push_async_callback(staff.close)
        await staff.open()
        scene = Scene(folder, ground, staff, client, looking, secrets=planted, broker=broker)
        if opened.servers:
            await _open_doors(scene, opened, {PRIVATE: private, **(led or {})}, ends)
        if config.foreign:
            scene.secrets.append(await staff.employ(looking, opened.leasing, ends))
        yield scene


async def _open_broker(ends: AsyncExitStack) -> Broker:
    broker = Broker()
    ends.push_async_callback(broker.close)
    await broker.open()
    return broker


async def _open_doors(
    scene: Scene, opened: Opened, environment: Mapping[str, str], ends: AsyncExitStack
) -> None:
    """Servers, and those who use them."""
    scene.doors = doors = Doors(scene.ground.address, scene.folder / "api", opened.armed, environment)
    ends.push_async_callback(doors.close)
    for namespace in (*NAMESPACES, None):
        key, mark = await with_key(scene.store, namespace), f"{namespace}-{secrets.token_hex(8)}"
        asking = HttpStore(
            doors.any, key=key.text, namespace=namespace, tags=[mark], heard=scene.replies.append
        )
        path = scene.folder / f"history-{namespace or 'operator'}"
        tenant = Tenant(namespace, key, mark, asking, Client(cast("Store", asking), path, new_job))
        ends.push_async_callback(tenant.close)
        scene.tenants.append(tenant)
        scene.secrets.append(tenant.secret)
    await doors.open(opened.servers)


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


def writings(folder: Path) -> list[Writing]:
    """What the processes of a run have written where others may read it, and what jobs saw around them."""
    kinds = ("*.log", "api/*.log", "leasing/*.log", "*.metrics", "seen-*")
    found = sorted(path for kind in kinds for path in folder.glob(kind))
    return [Writing(str(path.relative_to(folder)), path.read_text(errors="replace")) for path in found]


def passages_of(folder: Path) -> list[Passage]:
    """What the workers of a run did with messages."""
    return [one for path in sorted(folder.glob("*.passages")) for one in passages.read(path)]


async def left_over(scene: Scene, descriptors: list[str], messages: list[str]) -> Leftovers:
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
        messages=messages,
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
