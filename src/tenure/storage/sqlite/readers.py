"""Reading beside the writer: in write-ahead mode neither waits for the other."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import apsw

from tenure.core.errors import StoreUnavailable
from tenure.storage.sqlite.clock import StoreClock
from tenure.storage.sqlite.connection import fetch, open_reader, translated

_THREADS = 2


class Readers:
    """A few threads, each statement on a connection of its own. A read sees the last commit."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: SimpleQueue[tuple[apsw.Connection, StoreClock]] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None

    def open(self) -> None:
        """Connections are opened as they are needed."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tenure-reader")

    async def close(self) -> None:
        """Finish what is under way and close the connections."""
        if self._threads is not None:
            threads, self._threads = self._threads, None
            await asyncio.to_thread(threads.shutdown)
            while not self._idle.empty():
                self._idle.get()[0].close()

    async def run(self, text: str, /, **values: object) -> list[dict[str, Any]]:
        """Run one statement that reads; where it names `:now`, it is given the store's time."""
        if self._threads is None:
            raise StoreUnavailable("the store is not open: call open() first")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, text, values)

    def _read(self, text: str, values: dict[str, Any]) -> list[dict[str, Any]]:
        with translated(self._path):
            connection, clock = self._open() if self._idle.empty() else self._idle.get()
            try:
                if ":now" in text:
                    values["now"] = clock.read(connection).now
                return fetch(connection, text, values)
            finally:
                self._idle.put((connection, clock))

    def _open(self) -> tuple[apsw.Connection, StoreClock]:
        connection = open_reader(self._path)
        try:
            return connection, StoreClock(connection)
        except BaseException:
            connection.close()
            raise
