"""Servers are killed where it hurts, and whoever asks again is told of the first job, of whichever server."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import cast

import httpx
import pytest

from chaos import failpoints, history
from chaos.api import Door, Doors
from chaos.checker import check
from chaos.client import Client
from chaos.evidence import Terms, gather
from chaos.ground import Kind
from chaos.http_store import HttpStore
from chaos.load import plan
from chaos.scene import new_job, staged
from chaos.staff import Manner
from tenure.core.reading import Filter
from tenure.core.spec import Spec
from tenure.storage.address import store_for
from tenure.storage.contract import Store
from tests.storage.faults.own_server import OwnServer
from tests.surfaces.conftest import database  # noqa: F401
from tests.surfaces.http.serving import register

CALLERS = 100
BOUND = 60.0
WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "k"}
VERBS = {"enqueue", "batch", "hold", "cancel"}


@asynccontextmanager
async def kept(address: str) -> AsyncIterator[Store]:
    """A store on a database, which knows of one definition."""
    store = store_for(address)
    await store.open()
    try:
        await store.migrate()
        await register(store, Spec(key="mail"))
        yield store
    finally:
        await store.close()


async def jobs(store: Store) -> int:
    """How many there are."""
    return len((await store.page(Filter(), limit=200)).jobs)


async def asked(speaker: httpx.AsyncClient, url: str) -> str | None:
    """The id that a server answers with; None when it was gone before it could."""
    try:
        reply = await speaker.post(f"{url}/jobs", json=WISH)
    except httpx.TransportError:
        return None
    assert reply.status_code == 202, reply.text
    job: str = reply.json()["jobId"]
    return job


@pytest.mark.parametrize(("point", "recorded"), [("enqueue.before", 0), ("enqueue.after", 1), ("answer", 1)])
async def test_whoever_was_not_answered_asks_again_and_there_is_one_job(
    database: str,  # noqa: F811
    tmp_path: Path,
    point: str,
    recorded: int,
) -> None:
    """S0.42: also when the server died between its commit and its answer."""
    armed = f"api.{point}=kill"
    async with kept(database) as store, httpx.AsyncClient(timeout=BOUND, trust_env=False) as speaker:
        first = await Door.open(database, tmp_path / "fired", armed)
        assert await asked(speaker, first.url) is None
        assert await first.process.wait() == -9
        assert [one.name for one in failpoints.fired(tmp_path / "fired")] == [f"api.{point}"]
        found = (await store.page(Filter(), limit=10)).jobs
        assert len(found) == recorded

        other = await Door.open(database, tmp_path / "fired")
        try:
            again = [await asked(speaker, other.url) for _ in range(2)]
        finally:
            await other.kill()
        assert again[0] == again[1] is not None
        assert all(str(job.id) == again[0] for job in found)
        assert await jobs(store) == 1


async def test_a_hundred_callers_with_one_key_on_two_servers_get_one_job(
    database: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    """S0.45, S0.57, S0.58: and one of the servers is killed among them."""
    async with kept(database) as store, httpx.AsyncClient(timeout=BOUND, trust_env=False) as speaker:
        mortal = await Door.open(database, tmp_path / "fired", f"api.enqueue.after=kill@{CALLERS // 4}")
        steady = await Door.open(database, tmp_path / "fired")
        try:
            urls = [mortal.url, steady.url] * (CALLERS // 2)
            first = await asyncio.gather(*(asked(speaker, url) for url in urls))
            assert await mortal.process.wait() == -9
            unheard = first.count(None)
            again = await asyncio.gather(*(asked(speaker, steady.url) for _ in range(unheard)))
        finally:
            await mortal.kill()
            await steady.kill()
        assert unheard
        assert len({*first, *again} - {None}) == 1
        assert None not in again
        assert await jobs(store) == 1


@pytest.fixture(scope="module")
def own_server() -> Iterator[OwnServer]:
    """A server for runs."""
    with OwnServer() as started:
        yield started


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_no_promise_is_broken_to_clients_of_servers_that_are_killed(
    kind: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """S0.43, S0.44, S0.47: a run as in the campaigns, over HTTP, with a worker that serves all the while."""
    server = request.getfixturevalue("own_server") if kind == "postgres" else None
    async with staged(kind, tmp_path / "run", Manner(workers=1), server) as scene:
        doors = Doors(scene.ground.address, tmp_path / "fired", seed=7, armed="api.enqueue.after=kill@5*4")
        speaking = HttpStore(doors.any)
        client = Client(cast("Store", speaking), scene.folder / "calls", new_job)
        try:
            await doors.open(2)
            asks = [ask for ask in plan(7, seconds=3, calls=40) if ask.verb in VERBS]
            keeping = [asyncio.create_task(doors.keep(place)) for place in range(2)]
            await client.follow(asks)
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)
            quiet = await scene.come_to_rest(BOUND)
        finally:
            client.close()
            await speaking.close()
            await doors.close()
        calls = history.read(scene.folder / "calls")
        terms = Terms(lease=timedelta(seconds=Manner().lease), quiet=quiet)
        found = check(await gather(scene.store, terms, history=calls))
    assert quiet
    assert doors.died
    assert client.resolved  # somebody was not answered, asked again, and was
    assert not [one for one in found if one.invariant in {f"I{n}" for n in range(1, 12)}], found
