"""Readers beside the writer: in write-ahead mode neither waits for the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import apsw

from tenure.core.errors import StoreUnavailable
from tenure.storage.sqlite.file.clock import StoreClock
from tenure.storage.sqlite.file.connection import Opening, close, fetch, open_reader, translated
from tenure.storage.sqlite.file.writer import Writer

T = TypeVar("T")

_THREADS = 2


class _Reader(NamedTuple):
    """A connection, and the generation of the file that it reads."""

    generation: int
    connection: apsw.Connection
    clock: StoreClock


class Readers:
    """A few threads, with a connection for each statement under way. A read sees the last commit."""

    def __init__(self, path: Path, opening: Opening, writer: Writer) -> None:
        """The writer knows the identity of the file."""
        self._path = path
        self._opening = opening
        self._writer = writer
        self._idle: SimpleQueue[_Reader] = SimpleQueue()
        self._threads: ThreadPoolExecutor | None = None
        self._under_way: set[Future[Any]] = set()

    def open(self) -> None:
        """Connections are opened as they are needed."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tenure-reader")

    async def close(self) -> None:
        """Finish what is under way and close the connections."""
        if self._threads is not None:
            threads, self._threads = self._threads, None
            threads.shutdown(wait=False)
            # Not in a thread: none can be started any more while a program ends.
            if under_way := [asyncio.wrap_future(one) for one in list(self._under_way)]:
                await asyncio.wait(under_way)
            while not self._idle.empty():
                close(self._idle.get().connection)

    async def run(self, text: str, /, **values: object) -> list[dict[str, Any]]:
        """Run one statement that reads; `:now` in it is the store's time."""

        def read(reader: _Reader) -> list[dict[str, Any]]:
            if ":now" in text:
                values["now"] = reader.clock.read(reader.connection).now
            return fetch(reader.connection, text, values)

        return await self._lend(read)

    async def look(self, task: Callable[[apsw.Connection], T]) -> T:
        """Run several statements that read, all on one snapshot of the file."""

        def look(reader: _Reader) -> T:
            reader.connection.execute("BEGIN")
            try:
                return task(reader.connection)
            finally:
                reader.connection.execute("ROLLBACK")

        return await self._lend(look)

    async def _lend(self, task: Callable[[_Reader], T]) -> T:
        if self._threads is None:
            raise StoreUnavailable("the store is not open: call open() first")
        if not self._writer.file_identity.are_as_known():
            await self._writer.find()
        lent = self._threads.submit(self._lent, task)
        self._under_way.add(lent)
        lent.add_done_callback(self._under_way.discard)
        return await asyncio.wrap_future(lent)

    def _lent(self, task: Callable[[_Reader], T]) -> T:
        with translated(self._path):
            reader = self._reader()
            try:
                return task(reader)
            finally:
                self._idle.put(reader)

    def _reader(self) -> _Reader:
        """A reader of the file that the writer has open now."""
        current = self._writer.file_identity.generation
        while not self._idle.empty():
            idle = self._idle.get()
            if idle.generation == current:
                return idle
            close(idle.connection)
        connection = open_reader(self._path, self._opening)
        try:
            return _Reader(current, connection, StoreClock(connection))
        except BaseException:
            close(connection)
            raise
