"""Hints between the processes that share a file: SQLite counts commits, and a look at its count is cheap.

Nothing is sent. Whoever waits looks every few milliseconds whether somebody has committed, and less often the
longer nothing has happened.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import apsw

from tenure.core.errors import StoreBusy
from tenure.storage.sqlite.connection import open_reader, translated

_SHORTEST, _LONGEST = 0.005, 0.02

Looks = Mapping[str, str]
"""The statements to look with, by name."""


class Watch:
    """Looks at the file on a connection of its own, from the event loop itself."""

    def __init__(self, path: Path, connection: apsw.Connection, looks: Looks, news: str | None) -> None:
        """`news` names the look that tells whether a commit is worth waking for; without, each is."""
        self._path = path
        self._connection = connection
        self._looks = looks
        self._news = news
        self._commits, self._seen = self._read("listen.commits"), self._read_news()
        self._moved_at = self._looked_at = asyncio.get_running_loop().time()

    async def wait(self, timeout: float) -> bool:
        """Whether something may have happened since the last call; no caller can hurry the pace."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            pace = min(max((self._looked_at - self._moved_at) / 100, _SHORTEST), _LONGEST)
            await asyncio.sleep(max(0.0, min(self._looked_at + pace, deadline) - loop.time()))
            self._looked_at = loop.time()
            if self._look():
                return True
            if self._looked_at >= deadline:
                return False

    def _look(self) -> bool:
        try:
            commits = self._read("listen.commits")
            if commits == self._commits:
                return False
            seen = self._read_news()
        except StoreBusy:
            return False
        self._moved_at = self._looked_at
        is_news = self._news is None or seen != self._seen
        self._commits, self._seen = commits, seen
        return is_news

    def _read_news(self) -> object:
        return None if self._news is None else self._read(self._news)

    def _read(self, look: str) -> object:
        with translated(self._path):
            return self._connection.execute(self._looks[look]).get


@asynccontextmanager
async def listen(path: Path, looks: Looks, *, endings: bool, stops: bool) -> AsyncIterator[Watch]:
    """Watch a file for jobs put in line, or asked to stop; with `endings`, for whatever happens in it."""
    news = "listen.stops" if stops else "listen.arrivals"
    with translated(path):
        connection = open_reader(path)
    # A look that would have to wait is a look in vain; the next one is near.
    connection.set_busy_timeout(0)
    try:
        yield Watch(path, connection, looks, None if endings else news)
    finally:
        connection.close()
