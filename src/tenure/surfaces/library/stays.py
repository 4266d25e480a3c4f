"""Stores on the loops of callers, for loops that call often.

To hand work to a thread of our own and be told of its end costs as much as to enqueue a job. So a loop that
calls again and again is given a store of its own, opened beside its other work; until that is open, and for
loops that come and go, the thread serves.

A store ends with its loop. Whoever ends a loop in good order, as `asyncio.run` does, closes the asynchronous
generators that were begun on it, and one of those has the store: unlike a task, nobody who waits for all
tasks of a loop ever sees it. Of a loop that is just dropped, the connections are dropped as well.
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from concurrent.futures import CancelledError
from contextlib import suppress
from weakref import WeakKeyDictionary

from tenure.core.errors import TenureError
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.storage.address import store_for

OFTEN = 5
"""Calls after which a loop is given a store of its own."""

_PATIENCE = 5.0
"""Seconds that a loop in another thread may take to close its store."""


class _Stay:
    """One loop: how often it has called, and what it has."""

    def __init__(self) -> None:
        self.calls = 0
        self.client: Client | None = None
        self.visit: AsyncGenerator[None, None] | None = None
        self.task: asyncio.Task[None] | None = None


class Stays:
    """The clients on callers' loops."""

    def __init__(self, database: str, registry: Registry) -> None:
        self._database = database
        self._registry = registry
        self._known: WeakKeyDictionary[asyncio.AbstractEventLoop, _Stay] = WeakKeyDictionary()

    def found_on(self, loop: asyncio.AbstractEventLoop) -> Client | None:
        """The client of the running loop, where it has one already."""
        stay = self._known.get(loop)
        return None if stay is None else stay.client

    def client_on(self, loop: asyncio.AbstractEventLoop) -> Client | None:
        """The client of the running loop; None as long as it has none. Every question counts as a call.

        To be asked only once the thread has a store, since that one has verified the schema.
        """
        stay = self._known.get(loop)
        if stay is None:
            self._forget_closed()
            stay = self._known[loop] = _Stay()
        if stay.client is None:
            stay.calls += 1
            if stay.calls == OFTEN:
                stay.task = loop.create_task(self._begin(stay))
        return stay.client

    def close(self) -> None:
        """Close them, from whatever thread; a loop that calls again begins anew."""
        for loop, stay in list(self._known.items()):
            self._known.pop(loop, None)
            if not loop.is_running():
                continue  # what is left of it is closed when it runs again, or dropped with it
            if _runs_here(loop):
                stay.task = loop.create_task(_end(stay))
            else:
                with suppress(TimeoutError, CancelledError):
                    asyncio.run_coroutine_threadsafe(_end(stay), loop).result(_PATIENCE)

    async def _begin(self, stay: _Stay) -> None:
        stay.visit = self._visited(stay)
        try:
            await anext(stay.visit)
        except TenureError:
            stay.calls = 0  # who called is told so by the thread's own store, if it fares no better

    async def _visited(self, stay: _Stay) -> AsyncGenerator[None, None]:
        process = os.getpid()
        store = store_for(self._database)
        await store.open()
        client = stay.client = Client(store, self._registry)
        try:
            yield
        finally:
            stay.client = None
            if os.getpid() == process:  # a child has its parent's connections, and must not close them
                await client.close()
                await store.close()

    def _forget_closed(self) -> None:
        for loop in list(self._known):
            if loop.is_closed():
                self._known.pop(loop, None)


async def _end(stay: _Stay) -> None:
    if stay.task is not None and stay.visit is not None and stay.client is None:
        stay.task.cancel()
        await asyncio.wait([stay.task])
    elif stay.visit is not None:
        await stay.visit.aclose()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
