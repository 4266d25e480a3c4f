"""Hints between the processes that share a file: SQLite counts commits, and a look at its count is cheap.

Nothing is sent. While anybody listens, one task of the process looks every few milliseconds whether somebody
has committed, and less often the longer nothing has happened; all who listen share what it sees.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tenure.core.errors import StoreBusy
from tenure.storage.sqlite.connection import open_reader, translated

_SHORTEST, _LONGEST = 0.005, 0.02
_COMMITS, _ARRIVALS, _STOPS = "listen.commits", "listen.arrivals", "listen.stops"

Looks = Mapping[str, str]
"""The statements to look with, by name."""


class Listener:
    """One who waits for hints in this process."""

    is_live = True

    def __init__(self, news: str) -> None:
        """`news` names the look that tells whether a commit is worth waking for."""
        self.news = news
        self._told = asyncio.Event()
        self._heard: Callable[[], None] | None = None
        self._error: Exception | None = None

    def call(self, heard: Callable[[], None]) -> None:
        """Have this called for each hint, instead of waking who waits."""
        self._heard = heard

    def tell(self, error: Exception | None = None) -> None:
        """Wake whoever waits, now or next time; with an error, nothing more can be heard."""
        self._error = error
        if self._heard is None or error is not None:
            self._told.set()
        else:
            self._heard()

    async def wait(self, timeout: float) -> bool:
        """Whether something may have happened since the last call, waiting for it up to `timeout` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._told.wait()
        if self._error is not None:
            raise self._error
        told = self._told.is_set()
        self._told.clear()
        return told


class Watch:
    """Looks at the file, on a connection of its own and from the event loop itself, while anybody listens."""

    def __init__(self, path: Path, looks: Looks) -> None:
        self._path = path
        self._looks = looks
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self, *, everything: bool, stops: bool) -> AsyncIterator[Listener]:
        """Hear of jobs put in line, or asked to stop, or of everything that happens in the file."""
        listener = Listener(_COMMITS if everything else _STOPS if stops else _ARRIVALS)
        if self._task is None:
            eye = Eye(self._path, self._looks)
            self._task = asyncio.create_task(self._watch(eye), name="tenure-watch")
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                task, self._task = self._task, None
                task.cancel()
                await asyncio.wait([task])

    async def _watch(self, eye: "Eye") -> None:
        loop = asyncio.get_running_loop()
        moved_at = loop.time()
        try:
            while True:
                await asyncio.sleep(min(max((loop.time() - moved_at) / 100, _SHORTEST), _LONGEST))
                if news := eye.look():
                    moved_at = loop.time()
                    for listener in self._listeners:
                        if listener.news in news:
                            listener.tell()
        except Exception as error:
            self._task = None
            for listener in self._listeners:
                listener.tell(error)
        finally:
            eye.close()


class Eye:
    """Sees what has changed between two looks."""

    def __init__(self, path: Path, looks: Looks) -> None:
        self._path = path
        self._looks = looks
        with translated(path):
            self._connection = open_reader(path)
        # A look that would have to wait is a look in vain; the next one is near.
        self._connection.set_busy_timeout(0)
        try:
            self._seen = {look: self._read(look) for look in (_COMMITS, _ARRIVALS, _STOPS)}
        except BaseException:
            self.close()
            raise

    def look(self) -> set[str]:
        """The looks that show something else than last time; most of the time it takes one to see none."""
        try:
            if self._read(_COMMITS) == self._seen[_COMMITS]:
                return set()
            seen = {look: self._read(look) for look in self._seen}
        except StoreBusy:
            return set()
        changed = {look for look in seen if seen[look] != self._seen[look]}
        self._seen = seen
        return changed

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _read(self, look: str) -> object:
        with translated(self._path):
            return self._connection.execute(self._looks[look]).get
