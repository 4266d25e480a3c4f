"""Events through whatever becomes of the server, and clients that are given up or copied in the middle."""

import asyncio
import sys
from contextlib import aclosing
from typing import Any
from uuid import UUID

import pytest

from tenure import AsyncClient, RemoteEvent, Unreachable
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.reports.reading import Filter
from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.remote.streams import SILENCE
from tests.storage.backends import Backend
from tests.storage.verbs import claim, found, settle, succeeded
from tests.surfaces.http.calls.test_streams_killed import is_some, load, the_whole_feed
from tests.surfaces.http.http_server import Api, serving
from tests.surfaces.remote.restartable_server import (
    ONE_STORE_EACH,
    PATIENCE,
    RestartableServer,
    answer,
    listening,
    open_client,
    scripted,
)
from tests.until import until
from tests.whole import IS_WHOLE

KILLS = 3 if IS_WHOLE else 2
EVENT = (
    b'{"jobId":"01a2b7f4-5a51-7c1e-9a4e-0d3a4c0c1f52","n":1,"type":"queued","source":null,"target":"queued",'
    b'"attempt":0,"fence":0,"actor":"api","reason":null,"payload":null,"at":"2026-01-01T00:00:00Z"}'
)


class Reader:
    """Follows events until they end, or until `last` has succeeded."""

    def __init__(self) -> None:
        self.seen: list[tuple[UUID, int]] = []
        self.last: UUID | None = None

    async def wait_for(self, number: int) -> None:
        """Wait for so many more events."""
        before = len(self.seen)
        await until(lambda: len(self.seen) >= before + number)

    async def follow(self, events: Any) -> None:
        async with aclosing(events):
            event: RemoteEvent
            async for event in events:
                self.seen.append((event.job_id, event.n))
                if (event.type, event.job_id) == ("succeeded", self.last):
                    return


@ONE_STORE_EACH
async def test_nothing_is_missed_and_nothing_comes_twice_though_the_server_is_killed(
    server: RestartableServer,
    backend: Backend,
    store: Store,
    worked: list[Store],
    kind: str,
) -> None:
    """S1.52, S1.72: the client comes back by itself, and what it tells of all, some and one is the table."""
    [held] = await store.enqueue([NewJob(definition="mail", queue="held")])
    await server.open()
    everything, some, one = Reader(), Reader(), Reader()
    wanted = {"queue": "slow", "types": ["succeeded", "custom:half-way"]}
    async with (
        asyncio.timeout(4 * PATIENCE),
        open_client(kind, server.url) as client,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(everything.follow(client.events(after="0")))
        group.create_task(some.follow(client.events(after="0", **wanted)))
        group.create_task(one.follow(client.events(held.id)))
        await until(lambda: bool(one.seen and everything.seen))
        async with load(worked):
            for _ in range(KILLS):
                await everything.wait_for(30)
                await some.wait_for(5)
                await server.kill()
                await server.open()
        [last] = await store.enqueue([NewJob(definition="mail", queue="slow")])
        everything.last = some.last = last.id
        for queue in ("held", "slow"):
            owned = await claim(store, lines=[Line(queue, "mail")])
            await settle(store, [succeeded(each) for each in owned])
    whole = await the_whole_feed(store, backend)
    assert everything.seen == [(entry.event.job, entry.event.n) for entry in whole]
    assert some.seen == [(entry.event.job, entry.event.n) for entry in whole if is_some(entry)]
    assert one.seen == [(held.id, n) for n in (1, 2, 3)]


@pytest.mark.parametrize("said", [None, answer(200, b"", content_type="text/event-stream")])
async def test_a_stream_that_says_nothing_at_all_is_given_up(kind: str, said: bytes | None) -> None:
    """Within the client's patience, whether nobody answers or every stream is cut before its first word."""
    async with (
        asyncio.timeout(PATIENCE),
        scripted(said) as script,
        open_client(kind, script.url, timeout=3) as client,
    ):
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unreachable):
            await anext(client.events())
        assert asyncio.get_running_loop().time() - began < SILENCE / 2


async def test_a_stream_may_be_silent_for_longer_than_a_client_waits_for_an_answer(kind: str) -> None:
    """Nothing happens to jobs for as long as it likes: nobody hears anything who leaves before."""
    stream = {"content_type": "text/event-stream", "content_length": "1000"}

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer(200, b":\n\n", **stream))
        await asyncio.sleep(5)  # what is tested is that time passes
        writer.write(b"data: %s\n\n" % EVENT)
        await reader.read()

    async with (
        asyncio.timeout(PATIENCE),
        listening(slow) as port,
        # On a busy machine the beginning of an answer may take a second, too.
        open_client(kind, f"http://127.0.0.1:{port}", timeout=3) as client,
        aclosing(client.events()) as following,
    ):
        assert (await anext(following)).type == "queued"


async def test_a_call_that_is_cancelled_leaves_nothing_behind() -> None:
    """Neither a task nor a connection: the server sees it close, and has been asked once."""
    async with scripted(None) as script, AsyncClient(script.url) as client, asyncio.timeout(PATIENCE):
        before = asyncio.all_tasks()
        asking = asyncio.create_task(client.create("mail"))
        await until(lambda: bool(script.requests))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await script.gone.wait()
        await until(lambda: asyncio.all_tasks() <= before)
        assert len(script.requests) == 1


async def test_who_has_seen_enough_of_a_stream_leaves_it(store: Store, kind: str) -> None:
    """Where one stream is all there may be, the next one finds room."""
    async with (
        asyncio.timeout(PATIENCE),
        serving(store, limits=HttpLimits(http_streams=1)) as api,
        open_client(kind, api.server.url) as client,
    ):
        await store.enqueue([NewJob(definition="mail")])
        for _ in range(3):
            async with aclosing(client.events(after="0")) as following:
                assert (await anext(following)).type == "queued"


FORKING = """
import os, sys
from tenure import Client
with Client(sys.argv[1]) as client:
    client.create("mail", {"to": "parent"})
    child = os.fork()
    name = "parent" if child else "child"
    made = [client.create("mail", {"to": name}) for _ in range(20)]
    assert all(client.get(one).params == {"to": name} for one in made)
    if child:
        assert os.waitpid(child, 0)[1] == 0
"""


async def test_a_process_that_was_forked_has_connections_of_its_own(api: Api, store: Store) -> None:
    """And leaves its parent's alone: what either is answered is what it asked."""
    running = await asyncio.create_subprocess_exec(sys.executable, "-c", FORKING, api.server.url)
    async with asyncio.timeout(PATIENCE):
        assert await running.wait() == 0
    jobs = (await store.page(Filter(), limit=200)).jobs
    named = [str((await found(store, job.id)).params) for job in jobs]
    assert (named.count('{"to":"parent"}'), named.count('{"to":"child"}')) == (21, 20)
