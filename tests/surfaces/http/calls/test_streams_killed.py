"""Streams of `tenure api` as it is run: killed again and again under load, and asked by who never reads."""

import asyncio
import re
import signal
import socket
import subprocess
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.reports.reading import FeedEntry
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.verbs import PATIENCE, claim, count, fed, note, settle, succeeded, trail
from tests.surfaces.conftest import Start
from tests.surfaces.http.http_server import Listener, ReceivedEvent, request
from tests.until import until
from tests.whole import IS_WHOLE

pytestmark = pytest.mark.both_stores

KILLS = 3 if IS_WHOLE else 2
DEAF = 20
BOUND = 4 * PATIENCE
"""Seconds within which all of it has long happened, several servers started included."""

QUEUES = ("default", "slow")


class Place:
    """One server after the other, on one database."""

    def __init__(self, start: Start, database: str, **settings: str) -> None:
        self._start = start
        self._database = database
        self._settings = settings
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    async def open(self) -> None:
        """Have a server that listens."""
        self.process = self._start("api", "--database", self._database, "--port", "0", **self._settings)
        assert self.process.stderr is not None
        first = await asyncio.to_thread(self.process.stderr.readline)
        found = re.match(r"(http://127\.0\.0\.1:\d+) on ", first)
        assert found, first
        self.url = found[1]

    async def kill(self) -> None:
        """End it as the kernel would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(self.process.wait)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        url = httpx.URL(self.url)
        return url.host, url.port or 0

    @property
    def most_memory(self) -> int:
        """Bytes that the server has had in memory at most."""
        assert self.process is not None
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.process.pid}/status").read_text())
        assert found
        return int(found[1]) * 1024


class Follower:
    """Follows a stream through whatever happens to the server, as a browser does."""

    def __init__(self, place: Place, path: str, last: str | None = None) -> None:
        self._place = place
        self._path = path
        self._last = last
        self.received: list[ReceivedEvent] = []
        self.connections = 0

    async def follow(self) -> None:
        """Until the stream says that nothing more will come."""
        while True:
            with suppress(httpx.TransportError):
                if await self._connect():
                    return
            await asyncio.sleep(0.01)

    async def _connect(self) -> bool:
        headers = {"accept": "text/event-stream", **({"last-event-id": self._last} if self._last else {})}
        options: dict[str, Any] = {"base_url": self._place.url, "trust_env": False, "timeout": PATIENCE}
        async with (
            httpx.AsyncClient(verify=False, **options) as client,  # noqa: S501
            client.stream("GET", self._path, headers=headers) as answer,
        ):
            if answer.status_code == 204:
                return True
            assert answer.status_code == 200
            self.connections += 1
            listener = Listener(answer)
            try:
                while event := await listener.next():
                    self.received.append(event)
            finally:
                self._last = listener.ids[-1] if listener.ids else self._last
        return False

    @property
    def events(self) -> list[tuple[str, int]]:
        return [(event.data["jobId"], event.data["n"]) for event in self.received]


@pytest.fixture
async def worked(backend: Backend) -> AsyncIterator[list[Store]]:
    """Two stores on the database, as two workers would have them."""
    opened = [backend.store() for _ in QUEUES]
    for store in opened:
        await store.open()
    yield opened
    for store in opened:
        await store.close()


@asynccontextmanager
async def load(stores: list[Store]) -> AsyncIterator[None]:
    """Jobs come and go by two workers at once, for as long as the block lasts."""
    over = asyncio.Event()
    tasks = [
        asyncio.create_task(work(store, queue, over)) for store, queue in zip(stores, QUEUES, strict=True)
    ]
    try:
        yield
    finally:
        over.set()
        await asyncio.gather(*tasks)


async def work(store: Store, queue: str, over: asyncio.Event) -> None:
    lines = [Line(queue, "mail")]
    while not over.is_set():
        await store.enqueue([NewJob(definition="mail", queue=queue) for _ in range(3)])
        owned = await claim(store, worker=queue, limit=3, lines=lines)
        await store.record(queue, [trail(one, note("half-way")) for one in owned])
        await settle(store, [succeeded(one) for one in owned], worker=queue)
        await asyncio.sleep(0.01)


async def test_nothing_is_missed_and_nothing_comes_twice_though_the_server_is_killed(
    start: Start, backend: Backend, store: Store, worked: list[Store]
) -> None:
    """S1.52, S1.72: readers of all, of some and of one job come back with their last id, and have it all."""
    [held] = await store.enqueue([NewJob(definition="mail", queue="held")])
    place = Place(start, backend.address)
    await place.open()
    everything = Follower(place, "/v1/events", last="0")
    some = Follower(place, "/v1/events?queue=slow&type=succeeded&type=custom:half-way")
    one = Follower(place, f"/v1/jobs/{held.id}/events")
    async with asyncio.timeout(BOUND), asyncio.TaskGroup() as group:
        following = [group.create_task(follower.follow()) for follower in (everything, some, one)]
        await asyncio.sleep(0)
        await until(lambda: one.received and some.connections)
        async with load(worked):
            for _ in range(KILLS):
                await both_hear_more(everything, some)
                await place.kill()
                await place.open()
        [owned] = await claim(store, lines=[Line("held", "mail")])
        await settle(store, [succeeded(owned)])
        await following[2]  # ends by itself
        whole = await the_whole_feed(store, backend)
        wanted = [entry for entry in whole if is_some(entry)]
        await until(lambda: len(everything.received) >= len(whole) and len(some.received) >= len(wanted))
        for task in following:
            task.cancel()
    assert everything.events == [(str(entry.event.job), entry.event.n) for entry in whole]
    assert some.events == [(str(entry.event.job), entry.event.n) for entry in wanted]
    assert one.events == [(str(held.id), n) for n in (1, 2, 3)]
    assert everything.connections > KILLS
    assert all(numbers == list(range(1, 1 + len(numbers))) for numbers in by_job(everything.events).values())


async def both_hear_more(everything: Follower, some: Follower) -> None:
    goals = len(everything.received) + 30, len(some.received) + 5
    await until(lambda: len(everything.received) >= goals[0] and len(some.received) >= goals[1])


async def the_whole_feed(store: Store, backend: Backend) -> list[FeedEntry]:
    """When nobody writes any more; any transaction on the server may hold back its end for a while."""
    return await fed(store, await count(backend, "tenure.event"))


def is_some(entry: FeedEntry) -> bool:
    return entry.line.queue == "slow" and entry.event.type in {"succeeded", "custom:half-way"}


def by_job(events: list[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for job, n in events:
        found[job].append(n)
    return found


async def test_readers_that_never_read_cost_no_memory(start: Start, backend: Backend, store: Store) -> None:
    """Row 47: twenty of them ask for 8 MB each, and the server holds a small part of that."""
    await store.enqueue([NewJob(definition="mail")])
    [owned] = await claim(store)
    for _ in range(10):
        await store.record("a", [trail(owned, *[note("much", f'"{"x" * 20_000}"') for _ in range(40)])])
    place = Place(start, backend.address, TENURE_HTTP_STREAMS=str(DEAF), TENURE_HTTP_WRITE_SECONDS="1")
    await place.open()
    reader = Follower(place, "/v1/events", last="0")
    async with asyncio.timeout(BOUND):
        following = asyncio.create_task(reader.follow())
        await until(lambda: len(reader.received) >= 402)
        following.cancel()
        await asyncio.wait([following])
        before = place.most_memory
        async with AsyncExitStack() as ends:
            for _ in range(DEAF):
                deaf = ends.enter_context(socket.create_connection(place.address))
                deaf.sendall(request("GET", "/v1/events", {"Last-Event-ID": "0"}))
            # Whoever takes all the seats there are does so when every one of them was let go.
            await take_seats(place, DEAF, ends)
        assert place.most_memory - before < 40 * 2**20


async def take_seats(place: Place, number: int, ends: AsyncExitStack) -> None:
    """Wait until there are so many seats, and take them."""
    options: dict[str, Any] = {"base_url": place.url, "trust_env": False, "timeout": PATIENCE}
    client = await ends.enter_async_context(
        httpx.AsyncClient(verify=False, limits=httpx.Limits(), **options)  # noqa: S501
    )

    async def takes_one() -> bool:
        asking = client.stream("GET", "/v1/events")
        answer = await asking.__aenter__()
        if answer.status_code == 200:
            ends.push_async_exit(asking)
            return True
        assert answer.status_code == 503
        await answer.aread()
        await asking.__aexit__(None, None, None)
        return False

    for _ in range(number):
        await until(takes_one)
