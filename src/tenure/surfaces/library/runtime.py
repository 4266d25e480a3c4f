"""Where the library talks to its store: one event loop in a thread of its own, for each app and process.

A store lives on the loop that opened it. Programs have several, one after the other (`asyncio.run`), or none
(plain synchronous code), or are copied while running (`fork`). So the store is given a loop of its own, which
outlasts them all; whoever calls hands his work over and waits, by `await` or by blocking. Only a loop that
calls often has one of its own (see `stays`).

After a fork the child has no such thread, and the parent's connections are not for it to use nor to close: it
begins anew, and leaves alone what it was born with.
"""

import asyncio
import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tenure.core.errors import StoreForbidden
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.execution import context
from tenure.storage.address import is_fresh, is_served, open_store, shown
from tenure.storage.contract import Store
from tenure.surfaces.library.stays import Stays

T = TypeVar("T")
Work = Callable[[Client], Coroutine[Any, Any, T]]

_LAST_WORDS = 5.0
"""Seconds that closing may take when the program ends."""


class Runtime:
    """The loop of one process, and the client on it; both are made when they are first needed."""

    def __init__(self, database: str, registry: Registry) -> None:
        self._database = database
        self._registry = registry
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opening = asyncio.Lock()
        self._store: Store | None = None
        self._client: Client | None = None
        self._stays = Stays(database, registry) if is_served(database) else None

    def client_here(self) -> Client | None:
        """The client on the caller's own loop, where it has one already."""
        return self._stays.found_on(asyncio.get_running_loop()) if self._stays else None

    async def call(self, work: Work[T], *, aside: bool = False) -> T:
        """Do work on the store, from whatever loop.

        With `aside` in the thread in any case: much work would keep the caller's loop from its other tasks.
        """
        here, loop = asyncio.get_running_loop(), self._running()
        if here is loop:
            return await work(await self._ready())
        if self._stays and self._client and not aside and (client := self._stays.client_on(here)):
            return await work(client)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._do(work), loop))

    def block_on(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work on the loop and wait for it, from plain code."""
        try:
            loop = self._running()
            if threading.current_thread() is self._thread:
                raise RuntimeError("this would wait for itself: await the method without _sync instead")
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self, patience: float | None = None) -> None:
        """Close the store and end the thread; what comes later begins anew.

        Takes at most so many seconds for either, if any are named: then it is left as it is.
        """
        if self._stays:
            self._stays.close()
        with self._starting:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._close(), loop).result(patience)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(patience)
            if not thread.is_alive():
                loop.close()

    async def _do(self, work: Work[T]) -> T:
        return await work(await self._ready())

    async def _ready(self) -> Client:
        if self._client is not None:
            return self._client
        async with self._opening:
            if self._client is None:
                was_fresh = is_fresh(self._database)
                self._store = await open_store(self._database)
                if was_fresh:
                    _tell_of_new(self._database)
                self._client = Client(self._store, self._registry)
            return self._client

    async def _close(self) -> None:
        async with self._opening:
            client, store, self._client, self._store = self._client, self._store, None, None
            if client is not None:
                await client.close()
            if store is not None:
                await store.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # whoever waits for it must not wait for ever

    def _running(self) -> asyncio.AbstractEventLoop:
        if context.is_confined():
            raise StoreForbidden
        with self._starting:
            if self._loop is None:
                self._loop, self._opening = _new_loop(), asyncio.Lock()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="tenure-library", daemon=True
                )
                self._thread.start()
                _close_at_exit(self)
            return self._loop


def _new_loop() -> asyncio.AbstractEventLoop:
    """Of uvloop where that is installed: it spends less on every round trip."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _close_at_exit(runtime: Runtime) -> None:
    """Close when the program ends, so that an SQLite file is left whole and a server is told good-bye."""
    process, found = os.getpid(), weakref.ref(runtime)

    def close() -> None:
        # Here and not in a thread: since Python 3.12 none can be started any more at this time.
        if (runtime := found()) and os.getpid() == process:
            with suppress(Exception):
                runtime.close(_LAST_WORDS)

    # Before executors are shut down, which closing needs: atexit comes too late, and who registers last goes
    # first, so that theirs must be registered by now.
    import concurrent.futures.thread  # noqa: F401

    register: Callable[[Callable[[], None]], Any] = getattr(threading, "_register_atexit", atexit.register)
    with suppress(RuntimeError):
        register(close)


def _tell_of_new(database: str) -> None:
    """A file that nobody asked for is often in a folder where no worker looks."""
    logging.getLogger("tenure").warning(
        "no database was there, so a new one was made: %s; "
        "its jobs are run by workers that are started on this very file",
        shown(database).removeprefix("sqlite:///"),
    )
