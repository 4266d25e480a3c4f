"""A server and a worker of one process: when one fails, the other is stopped in order."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from tenure.assemble.supervisor import Supervisor
from tenure.core.errors import StoreUnavailable
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.storage.contract.store import Store
from tenure.surfaces.cli.process.event_loop import STOPS
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.server.server import Server, listen


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """Whoever runs the tests wants its signals back."""
    before = [(number, signal.getsignal(number)) for number in STOPS]
    yield
    for number, handler in before:
        signal.signal(number, handler)


class Part:
    """A part that fails when it is told to, or ends when it is told to stop."""

    is_ready = True
    running = 0

    def __init__(self, failure: Exception | None = None) -> None:
        self._failure = failure
        self._stopped = asyncio.Event()

    def stop(self, reason: str = "") -> None:
        self._stopped.set()

    async def run(self) -> None:
        if self._failure is not None:
            raise self._failure
        await self._stopped.wait()


async def test_a_worker_that_fails_takes_the_server_with_it(store: Store) -> None:
    """S3.59: the server stops in good order, and what has happened decides the exit code."""
    client = JobClient(store, Registry())
    told: list[str] = []
    desk = AppContext(store, client)
    server = Server(
        desk, listen("127.0.0.1", 0), routes=ROUTES, on_bug=lambda _, error: told.append(repr(error))
    )
    failed = ExceptionGroup("loops", [StoreUnavailable("it is gone")])
    with pytest.raises(StoreUnavailable, match="it is gone"):
        await Supervisor(server, Part(failed), 30.0, told.append).run()
    assert told == ["the worker has ended; the server ends with it"]
    await client.close()


async def test_a_server_that_fails_takes_the_worker_with_it() -> None:
    told: list[str] = []
    with pytest.raises(OSError, match="no socket"):
        await Supervisor(Part(OSError("no socket")), Part(), 30.0, told.append).run()
    assert told == ["the server has ended; the worker ends with it"]


async def test_who_is_about_to_stop_or_whose_worker_can_do_nothing_is_not_ready(store: Store) -> None:
    client = JobClient(store, Registry())
    can_work = True
    desk = AppContext(store, client, is_ready=lambda: can_work)
    await desk.require_ready()
    can_work = False
    with pytest.raises(Refusal, match="worker"):
        await desk.require_ready()
    can_work = True
    desk.stopping.set()
    with pytest.raises(Refusal, match="stop"):
        await desk.require_ready()
    await client.close()
