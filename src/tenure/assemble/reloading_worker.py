"""A worker for development that follows the app's source files: `--reload`.

A generation is a worker with its own zygote, on the store that all of them share. When a file has changed,
the current generation claims no more, and what it runs ends with the code that it began with, as at a
shutdown: in `shutdown_seconds` at most, then it is handed back. The next generation imports the new code,
registers its definitions and claims. If the code cannot be imported, nothing is claimed until the next
change: no job runs with code that is no longer there.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable

from tenure.assemble.generation import Generation, Generations, ImportedApp
from tenure.assemble.source_files import SourceFiles
from tenure.core.errors import InvalidInput, TenureError
from tenure.execution.handler.handler import AppFailed
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog

_MOST_NAMED = 3


class ReloadingWorker:
    """Runs one generation after another; `open_next` opens one, or raises a TenureError."""

    def __init__(
        self,
        first: Generation,
        open_next: Callable[[], Awaitable[Generation]],
        files: SourceFiles,
        logs: EventLog,
    ) -> None:
        self._open_next = open_next
        self._files = files
        self._logs = logs
        self._current: Generation | None = first
        self._living: list[Generation] = []
        self._children_of_gone = 0
        self._stays = False
        self._stopping = asyncio.Event()
        self._over = asyncio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether the current generation can do its work."""
        return self._current is not None and self._current.worker.is_ready

    @property
    def is_forced(self) -> bool:
        """Whether it was told twice to stop."""
        return any(one.worker.is_forced for one in self._living)

    @property
    def running(self) -> int:
        """How many attempts run now, in all generations."""
        return sum(one.worker.running for one in self._living)

    @property
    def active(self) -> Iterable[str]:
        """The definition of each attempt that runs now."""
        return [name for one in self._living for name in one.worker.active]

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""
        return sum(one.worker.waiting for one in self._living)

    @property
    def children(self) -> int:
        """How many processes were started so far."""
        return self._children_of_gone + sum(one.lanes.children for one in self._living)

    def stay(self) -> None:
        """Do not end when an operator drains the worker."""
        self._stays = True
        if self._current is not None:
            self._current.worker.stay()

    def stop(self, reason: str = "asked to stop") -> None:
        """Claim no more and end when what runs has ended; called twice, end at once."""
        if self._stopping.is_set():
            for one in self._living:
                one.worker.stop(reason)
        elif self._current is not None:
            self._current.worker.stop(reason)
        self._stopping.set()
        if not self._living:
            self._over.set()

    async def run(self) -> None:
        """Work until stopped."""
        async with asyncio.TaskGroup() as tasks:
            if self._current is not None:
                self._begin(self._current, tasks)
            following = tasks.create_task(self._follow(tasks))
            await self._over.wait()
            following.cancel()

    def _begin(self, generation: Generation, tasks: asyncio.TaskGroup) -> None:
        if self._stays:
            generation.worker.stay()
        self._current = generation
        self._living.append(generation)
        tasks.create_task(self._live(generation))

    async def _live(self, generation: Generation) -> None:
        await generation.worker.run()
        await generation.lanes.close(at_once=generation.worker.is_forced)
        self._living.remove(generation)
        self._children_of_gone += generation.lanes.children
        if generation is self._current:  # stopped, or drained by an operator
            self._current = None
            self._stopping.set()
        if self._stopping.is_set() and not self._living:
            self._over.set()

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        async for changed in self._files.changes():
            if self._stopping.is_set():
                return
            self._logs.notice(f"reload: {_named(changed)} changed")
            if self._current is not None:
                self._current.worker.stop("the code has changed")
                self._current = None
            try:
                generation = await self._open_next()
            except TenureError as error:
                _report(error, self._logs)
                continue
            if self._stopping.is_set():  # meanwhile
                await generation.lanes.close()
                return
            self._begin(generation, tasks)


async def first_app(generations: Generations, files: SourceFiles, logs: EventLog) -> ImportedApp:
    """Import the app, again at each change until it can be imported; says that this is for development."""
    folders = " and ".join(map(str, files.folders))
    logs.notice(f"reload: follows the .py files below {folders}; for development, not for production")
    changes = files.changes()
    while True:
        try:
            return await generations.import_app()
        except AppFailed as error:
            _report(error, logs)
            await anext(changes)


async def next_generation(generations: Generations, store: Store, database: str | None) -> Generation:
    """Import the app again, and open a generation on the same store; `database` is what the app named."""
    imported = await generations.import_app()
    if imported.manifest.database != database:
        await imported.lanes.close()
        raise InvalidInput("database", "of the app has changed", "start this command anew")
    return await generations.open(imported, store)


def _report(error: TenureError, logs: EventLog) -> None:
    trace = error.error.traceback if isinstance(error, AppFailed) else None
    for line in (trace or "").splitlines():
        logs.notice(line)
    logs.notice(f"reload: {error}; nothing is claimed until a file changes")


def _named(files: list[str]) -> str:
    names = ", ".join(map(os.path.relpath, files[:_MOST_NAMED]))
    more = len(files) - _MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names
