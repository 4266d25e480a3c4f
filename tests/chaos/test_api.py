"""Servers are killed where it hurts, and whoever asks again is told of the first job, of whichever server."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from chaos import failpoints
from chaos.api import Door, Doors
from tenure.core.model.spec import Spec
from tenure.core.reports.reading import Filter
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.ports import free_port
from tests.surfaces.conftest import database  # noqa: F401
from tests.surfaces.http.http_server import register

CALLERS = 100
BOUND = 60.0
WISH = {"jobType": "mail", "payload": {"to": "ada"}, "idempotencyKey": "k"}


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


async def test_a_server_with_a_place_of_its_own_is_found_there_again(
    database: str,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Workers in other languages know one address; and a run knows when nobody was there."""
    async with kept(database), httpx.AsyncClient(timeout=BOUND, trust_env=False) as speaker:
        doors = Doors(database, tmp_path / "leasing", "", port=free_port())
        try:
            await doors.open(1)
            url, began = doors.any(), time.monotonic()
            await doors.restart()
            assert doors.any() == url
            assert (await speaker.get(f"{url}/readyz")).status_code == 200
            [(gone, back)] = doors.absences()
            assert began < gone < back
        finally:
            await doors.close()
