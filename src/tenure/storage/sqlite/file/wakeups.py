"""Hints between the processes that share a file: SQLite counts commits, and reading its count is cheap.

Nothing is sent. While there is a listener, one task of the process looks whether any process has committed,
when `look_pace` says so; all listeners share what it finds.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tenure.core.errors import StoreBusy
from tenure.storage.sqlite.file.connection import open_reader, translated
from tenure.storage.sqlite.file.look_pace import LookPace

_COMMITS, _ARRIVALS, _STOPS = "listen.commits", "listen.arrivals", "listen.stops"

Checks = Mapping[str, str]
"""The statements that read the counts, by name."""


class Listener:
    """Waits for hints in this process."""

    is_live = True

    def __init__(self, check: str) -> None:
        """`check` names the count whose change is a hint."""
        self.check = check
        self._hinted = asyncio.Event()
        self._on_hint: Callable[[], None] | None = None
        self._error: Exception | None = None

    def call(self, on_hint: Callable[[], None]) -> None:
        """Call this for each hint, instead of waking `wait`."""
        self._on_hint = on_hint

    def hint(self, error: Exception | None = None) -> None:
        """Wake the waiter, now or next time; after an error there are no more hints."""
        self._error = error
        if self._on_hint is None or error is not None:
            self._hinted.set()
        else:
            self._on_hint()

    async def wait(self, timeout: float) -> bool:
        """Whether something may have happened since the last call, waiting for it up to `timeout` seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._hinted.wait()
        if self._error is not None:
            raise self._error
        is_hinted = self._hinted.is_set()
        self._hinted.clear()
        return is_hinted


class FileWatch:
    """Looks at the file while there are listeners, on its own connection and in the event loop itself."""

    def __init__(self, path: Path, checks: Checks) -> None:
        self._path = path
        self._checks = checks
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self, *, everything: bool, stops: bool) -> AsyncIterator[Listener]:
        """Get hints of jobs put in line, or cancelled while running, or of every commit."""
        listener = Listener(_COMMITS if everything else _STOPS if stops else _ARRIVALS)
        if self._task is None:
            counter = CommitCounter(self._path, self._checks)
            self._task = asyncio.create_task(self._watch(counter), name="tenure-watch")
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                task, self._task = self._task, None
                task.cancel()
                await asyncio.wait([task])

    async def _watch(self, counter: "CommitCounter") -> None:
        pace = LookPace(self._path)
        try:
            while True:
                await pace.pause()
                changed = counter.changes()
                pace.found(news=bool(changed))
                for listener in self._listeners:
                    if listener.check in changed:
                        listener.hint()
        except Exception as error:
            self._task = None
            for listener in self._listeners:
                listener.hint(error)
        finally:
            pace.close()
            counter.close()


class CommitCounter:
    """Finds which counts have changed since the last check."""

    def __init__(self, path: Path, checks: Checks) -> None:
        self._path = path
        self._checks = checks
        with translated(path):
            self._connection = open_reader(path)
        # A check that would have to wait is skipped; the next one comes soon.
        self._connection.set_busy_timeout(0)
        try:
            self._seen = {check: self._read(check) for check in (_COMMITS, _ARRIVALS, _STOPS)}
        except BaseException:
            self.close()
            raise

    def changes(self) -> set[str]:
        """The names of counts that have changed; if nothing was committed, one statement finds out."""
        try:
            if self._read(_COMMITS) == self._seen[_COMMITS]:
                return set()
            seen = {check: self._read(check) for check in self._seen}
        except StoreBusy:
            return set()
        changed = {check for check in seen if seen[check] != self._seen[check]}
        self._seen = seen
        return changed

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _read(self, check: str) -> object:
        with translated(self._path):
            return self._connection.execute(self._checks[check]).get
