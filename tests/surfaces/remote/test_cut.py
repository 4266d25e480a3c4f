"""Connections are cut and servers killed where it hurts, and whoever asked gets the one answer there is."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from chaos import failpoints
from tenure.core.model.aside import JobsAside
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.verbs import claim, enqueue_one, job_in, settle, state_of, succeeded
from tests.surfaces.remote.restartable_server import (
    ONE_STORE_EACH,
    PATIENCE,
    RestartableServer,
    between,
    open_client,
)

pytestmark = ONE_STORE_EACH
POINTS = ["before", "after", "head", "body"]


async def ids(store: Store) -> set[UUID]:
    """Every job there is."""
    return {job.id for job in (await store.page(Filter(), limit=200)).jobs}


async def test_there_is_one_job_wherever_the_connection_is_cut(
    server: RestartableServer, store: Store, kind: str
) -> None:
    """S0.41, S0.42: the client makes the key, sends it again after each cut, and hears of the one job."""
    await server.open()
    async with (
        asyncio.timeout(PATIENCE),
        between(server.port) as proxy,
        open_client(kind, proxy.url) as client,
    ):
        known: set[UUID] = set()
        for point in POINTS:
            await client.close()  # for what comes makes connections of its own
            proxy.cuts = [point, point]
            made = await client.create("mail", {"to": "ada"})
            assert proxy.cuts == []
            [new] = await ids(store) - known
            assert (made.job_id, made.status) == (new, State.QUEUED)
            known.add(new)
        assert proxy.made == 2 * len(POINTS)


async def test_many_jobs_are_there_once_wherever_the_connection_is_cut(
    server: RestartableServer, store: Store, kind: str
) -> None:
    """S0.41: and each is answered in its place."""
    await server.open()
    async with (
        asyncio.timeout(PATIENCE),
        between(server.port) as proxy,
        open_client(kind, proxy.url) as client,
    ):
        jobs = [client.new_job("mail", {"to": str(n)}, tags=[f"n{n}"]) for n in range(3)]
        proxy.cuts = [*POINTS]
        made = await client.create_many(jobs)
        assert proxy.made == len(POINTS)
        assert [(await client.get(one)).tags for one in made] == [("post", f"n{n}") for n in range(3)]
        assert {one.job_id for one in made} == await ids(store)
        # The values bear their keys: to send them again later is the same.
        assert await client.create_many(jobs) == made


async def mended(store: Store, backend: Backend) -> UUID:
    """A job that is aside, and could go on."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await damaged_rows.next_event(backend.address, job)
    with pytest.raises(JobsAside):
        await settle(store, [succeeded(owned)])
    await damaged_rows.mend(backend.address, job)
    return job


async def test_what_is_asked_of_a_job_is_done_once_wherever_the_connection_is_cut(
    server: RestartableServer, store: Store, backend: Backend, kind: str
) -> None:
    await server.open()
    ended = await job_in(store, State.SUCCEEDED)
    held = await job_in(store, State.CREATED)
    waiting = await job_in(store, State.RETRYING)
    aside = await mended(store, backend)
    async with (
        asyncio.timeout(PATIENCE),
        between(server.port) as proxy,
        open_client(kind, proxy.url) as client,
    ):

        async def cut(asking: Any) -> Any:
            await client.close()
            proxy.cuts = [*POINTS]
            done = await asking
            assert proxy.cuts == []
            return done

        again = await cut(client.replay(ended))
        assert await ids(store) == {ended, held, waiting, aside, again.job_id}
        assert (await cut(client.get(again))).replay_of == ended
        assert await cut(client.release(held)) is State.QUEUED
        assert await cut(client.cancel(held, "no more")) is State.CANCELLED
        assert await cut(client.run_now(waiting)) is State.RETRYING
        assert await cut(client.give_up(waiting)) is State.RETRYING
        assert await cut(client.put_back(aside)) is State.SUCCEEDED
        assert {job.job_id async for job in client.list()} == await ids(store)
    assert waiting in [standing.job for standing in await store.promote(10)]
    assert await state_of(store, waiting) is State.FAILED


@pytest.mark.parametrize("point", ["enqueue.before", "enqueue.after", "answer"])
async def test_there_is_one_job_though_the_server_is_killed_between_commit_and_answer(
    server: RestartableServer, store: Store, kind: str, point: str
) -> None:
    """S0.42: another server on the same port tells of the job that the first one recorded, or records it."""
    await server.open(f"api.{point}=kill")
    async with asyncio.timeout(PATIENCE), open_client(kind, server.url) as client:
        asking = asyncio.create_task(client.create("mail", {"to": "ada"}))
        assert await server.ended() == -9
        assert [one.name for one in failpoints.fired(server.fired)] == [f"api.{point}"]
        recorded = await ids(store)
        assert len(recorded) == (point != "enqueue.before")
        await server.open()
        made = await asking
    assert await ids(store) == {made.job_id} >= recorded


async def test_who_waits_is_told_of_the_end_though_the_server_was_killed(
    server: RestartableServer, store: Store, kind: str
) -> None:
    """The job ends while no server is there."""
    await server.open()
    async with asyncio.timeout(PATIENCE), open_client(kind, server.url) as client:
        made = await client.create("mail", {"to": "ada"})
        waiting = asyncio.create_task(client.wait(made, timeout=PATIENCE))
        await asyncio.sleep(0)
        await server.kill()
        await settle(store, [succeeded(owned, '{"sent":1}') for owned in await claim(store)])
        await server.open()
        assert await waiting == {"sent": 1}
