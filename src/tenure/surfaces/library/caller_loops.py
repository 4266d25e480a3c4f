"""Stores on the loops of callers, for loops that call often.

Handing work to the library's thread and waiting for its end costs as much as enqueueing a job. So a loop that
calls often gets a store of its own, opened beside its other work; until that is open, and for short-lived
loops, the thread does the work.

A store ends with its loop. A loop that ends in good order, as under `asyncio.run`, closes the asynchronous
generators that were started on it, and one of those holds the store: unlike a task, it is not among the tasks
that a program may wait for. If a loop is just dropped, its connections are dropped with it.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from weakref import WeakKeyDictionary

from tenure.assemble.client import Meter, open_client
from tenure.core.errors import TenureError
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry

OFTEN = 5
"""How many calls a loop makes before it gets a store of its own."""

_CLOSE_SECONDS = 5.0
"""How long a loop in another thread may take to close its store."""


class _CallerLoop:
    """One loop: how often it has called, and its client."""

    def __init__(self) -> None:
        self.calls = 0
        self.client: JobClient | None = None
        self.holder: AsyncGenerator[None, None] | None = None
        self.task: asyncio.Task[None] | None = None


class CallerLoops:
    """The clients on callers' loops."""

    def __init__(
        self, database: str, registry: Registry, meter: Callable[[], Meter | None] = lambda: None
    ) -> None:
        self._meter = meter
        self._database = database
        self._registry = registry
        self._known: WeakKeyDictionary[asyncio.AbstractEventLoop, _CallerLoop] = WeakKeyDictionary()

    def found_on(self, loop: asyncio.AbstractEventLoop) -> JobClient | None:
        """The client of the running loop, if it has one already."""
        caller = self._known.get(loop)
        return None if caller is None else caller.client

    def client_on(self, loop: asyncio.AbstractEventLoop) -> JobClient | None:
        """The client of the running loop, or None while it has none. Every use counts as a call.

        Use it only once the thread has a store: that one has verified the schema.
        """
        caller = self._known.get(loop)
        if caller is None:
            self._forget_closed()
            caller = self._known[loop] = _CallerLoop()
        if caller.client is None:
            caller.calls += 1
            if caller.calls == OFTEN:
                caller.task = loop.create_task(self._open(caller))
        return caller.client

    def close(self) -> None:
        """Close all of them, from any thread; a loop that calls again starts afresh."""
        for loop, caller in list(self._known.items()):
            self._known.pop(loop, None)
            if not loop.is_running():
                continue  # its store is closed when it runs again, or dropped with it
            if _runs_here(loop):
                caller.task = loop.create_task(_close(caller))
            else:
                with suppress(TimeoutError, CancelledError):
                    asyncio.run_coroutine_threadsafe(_close(caller), loop).result(_CLOSE_SECONDS)

    async def _open(self, caller: _CallerLoop) -> None:
        caller.holder = self._hold(caller)
        try:
            await anext(caller.holder)
        except TenureError:
            caller.calls = 0  # if the thread's store fails as well, its error reaches the caller

    async def _hold(self, caller: _CallerLoop) -> AsyncGenerator[None, None]:
        process = os.getpid()
        opened = await open_client(self._database, self._registry, verify=False, meter=self._meter())
        caller.client = opened.client
        try:
            yield
        finally:
            caller.client = None
            if os.getpid() == process:  # a forked child must not close its parent's connections
                await opened.close()

    def _forget_closed(self) -> None:
        for loop in list(self._known):
            if loop.is_closed():
                self._known.pop(loop, None)


async def _close(caller: _CallerLoop) -> None:
    if caller.task is not None and caller.holder is not None and caller.client is None:
        caller.task.cancel()
        await asyncio.wait([caller.task])
    elif caller.holder is not None:
        await caller.holder.aclose()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
