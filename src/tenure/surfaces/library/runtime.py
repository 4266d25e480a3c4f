"""Where the library talks to its store: on an event loop in a thread, one for each app and process.

A store lives on the loop that opened it. Programs have several loops, one after the other (`asyncio.run`), or
none (plain synchronous code), or are copied while running (`fork`). So the store has a loop of its own, which
outlives theirs; callers hand their work over and wait, by `await` or by blocking. Only a loop that calls
often gets a store of its own (see `caller_loops`).

After a fork the child does not have that thread, and must neither use nor close the parent's connections: it
starts afresh, and leaves what it inherited alone.
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

from tenure.assemble.client import Meter, OpenClient, open_client
from tenure.core.errors import StoreForbidden
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.execution.handler import context
from tenure.settings.settings import Settings
from tenure.storage.address import is_fresh, is_served, shown
from tenure.surfaces.library.caller_loops import CallerLoops

T = TypeVar("T")
Work = Callable[[JobClient], Coroutine[Any, Any, T]]

_CLOSE_SECONDS = 5.0
"""How long closing may take when the program ends."""


class Runtime:
    """The loop of one process, and the client on it; both are made on first use."""

    def __init__(
        self,
        database: str,
        registry: Registry,
        settings: Settings | None = None,
        meter: Callable[[], Meter | None] = lambda: None,
    ) -> None:
        """With `settings` that name a transport, messages are sent for jobs that are put in line.

        What `meter` gives when a store is opened counts its calls.
        """
        self._meter = meter
        self._settings = settings
        self._database = database
        self._registry = registry
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._opening = asyncio.Lock()
        self._opened: OpenClient | None = None
        sends = settings is not None and settings.transport != "database"
        # What sends is on the one loop that lasts.
        has_loops = is_served(database) and not sends
        self._caller_loops = CallerLoops(database, registry, meter) if has_loops else None

    def client_here(self) -> JobClient | None:
        """The client on the caller's own loop, if it has one already."""
        return self._caller_loops.found_on(asyncio.get_running_loop()) if self._caller_loops else None

    async def call(self, work: Work[T], *, aside: bool = False) -> T:
        """Do work on the store, from any loop.

        With `aside`, always in the thread: large work would block the caller's loop.
        """
        here, loop = asyncio.get_running_loop(), self._running()
        if here is loop:
            return await work(await self._ready())
        if (
            self._caller_loops
            and self._opened
            and not aside
            and (client := self._caller_loops.client_on(here))
        ):
            return await work(client)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._do(work), loop))

    def block_on(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work on the loop and wait for it, from plain code."""
        try:
            loop = self._running()
            if threading.current_thread() is self._thread:
                raise RuntimeError("this call would wait for itself: await the method without _sync instead")
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
        """Close the store and end the thread; a later call starts both again.

        With `patience`, either may take that many seconds; after that it is left as it is.
        """
        if self._caller_loops:
            self._caller_loops.close()
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

    async def _ready(self) -> JobClient:
        if self._opened is not None:
            return self._opened.client
        async with self._opening:
            if self._opened is None:
                self._opened = await self._open()
            return self._opened.client

    async def _open(self) -> OpenClient:
        was_fresh = is_fresh(self._database)
        opened = await open_client(
            self._database, self._registry, settings=self._settings, meter=self._meter()
        )
        if was_fresh:
            _warn_of_new_file(self._database)
        return opened

    async def _close(self) -> None:
        async with self._opening:
            opened, self._opened = self._opened, None
            if opened is not None:
                await opened.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # its caller must not wait for ever

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
    """A loop of uvloop if that is installed: its round trips cost less."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _close_at_exit(runtime: Runtime) -> None:
    """Close when the program ends: an SQLite file is left without a log, a server with no open sessions."""
    process, reference = os.getpid(), weakref.ref(runtime)

    def close() -> None:
        # In this thread: since Python 3.12 no thread can be started this late.
        if (runtime := reference()) and os.getpid() == process:
            with suppress(Exception):
                runtime.close(_CLOSE_SECONDS)

    # Must run before executors are shut down, which closing needs. atexit comes too late; these callbacks run
    # last registered first, so the executors' own must be registered by now.
    import concurrent.futures.thread  # noqa: F401

    register: Callable[[Callable[[], None]], Any] = getattr(threading, "_register_atexit", atexit.register)
    with suppress(RuntimeError):
        register(close)


def _warn_of_new_file(database: str) -> None:
    """Name a new file: it is often in a folder where no worker looks."""
    logging.getLogger("tenure").warning(
        "there was no database, so a new one was created: %s; "
        "only workers that are started on this file run its jobs",
        shown(database).removeprefix("sqlite:///"),
    )
