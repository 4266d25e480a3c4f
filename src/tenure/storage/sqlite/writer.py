"""The one writer of this process: a thread that owns the writing connection and commits in groups.

SQLite admits one writer at a time and charges a disk sync for every commit. So all writes of a process go
to one thread, which takes whatever has gathered since the last commit, runs it in one transaction, syncs
once, and only then answers. A lone write goes at once; a hundred concurrent ones share a sync.

Within the transaction every task has a savepoint of its own: one that fails takes back its own changes and
nobody else's. Neighbours that want the same done to items of theirs have it done in one go, which costs
little more than for one of them; should that fail, each has a go of its own after all. If the commit itself
fails, nothing happened, and every task of the group is told so with an error of its own.

Writers of several processes queue at a turnstile, and one at a time has SQLite's own lock. Which tasks go is
decided when both are held: what became urgent in the meantime is among them. A task that waits for either
longer than its patience is withdrawn before it has begun, and its caller told so.

Time is read once a transaction, after the lock is held.
"""

import asyncio
import concurrent.futures
import copy
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tenure.core.errors import StoreBusy, StoreUnavailable
from tenure.storage.sqlite.clock import Turn
from tenure.storage.sqlite.connection import Opening, translated
from tenure.storage.sqlite.gathering import Gathering, Task, Waiting, in_one_go
from tenure.storage.sqlite.holding import Holding
from tenure.storage.sqlite.turnstile import Turnstile
from tenure.storage.sqlite.whereabouts import Whereabouts

T = TypeVar("T")
Item = TypeVar("Item")
LOOK = 0.005
"""Seconds between two looks whether a large task may be written now."""


class Writer:
    """Runs tasks in the writing thread, in the order in which they came."""

    def __init__(self, path: Path, opening: Opening) -> None:
        """A task waits for other processes as long as the opening's patience, then it is withdrawn."""
        self._path = path
        self._opening = opening
        self._patience = opening.patience
        self.whereabouts = Whereabouts(path)
        self._turning = asyncio.Lock()
        self._thread: threading.Thread | None = None
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._gathering = Gathering()

    async def open(self) -> None:
        """Open the file, which is made if there is none."""
        async with self._turning:
            if self._thread is not None:
                return
            opened: concurrent.futures.Future[None] = concurrent.futures.Future()
            gathering = Gathering()
            ended: concurrent.futures.Future[None] = concurrent.futures.Future()
            thread = threading.Thread(
                target=self._live, args=(opened, ended, gathering), name="tenure-writer", daemon=True
            )
            thread.start()
            try:
                async with asyncio.timeout(self._patience):
                    await asyncio.wrap_future(opened)
            except TimeoutError:
                gathering.end()
                raise StoreBusy(
                    f"{self._path} could not be opened within {self._patience:g} s: another process holds it,"
                    " or its disk does not answer"
                ) from None
            except BaseException:
                gathering.end()
                raise
            self._thread, self._ended, self._gathering = thread, ended, gathering

    async def close(self) -> None:
        """Do what was handed in, then close the file."""
        async with self._turning:
            if self._thread is not None:
                thread, ended, self._thread = self._thread, self._ended, None
                self._gathering.end()
                # No thread waits for it: when a program ends, none can be started any more.
                await asyncio.wait([asyncio.wrap_future(ended)], timeout=2 * self._patience)
                if not ended.done():
                    raise StoreBusy(f"{self._path} is held by another process; it could not be closed")
                thread.join()

    async def run(
        self, task: Callable[[apsw.Connection, Turn], T], *, rows: int = 1, is_urgent: bool = False
    ) -> T:
        """Run a task in a transaction; when the answer comes, it is durable.

        `rows` is about how many it writes: who writes many has to go alone. What is urgent goes first.
        """
        answer: T = await self._handed_in(Waiting(task, rows=rows, is_urgent=is_urgent))
        return answer

    async def run_on(
        self, work: Callable[[apsw.Connection, Turn, Sequence[Item]], list[T]], items: Sequence[Item]
    ) -> list[T]:
        """Do some work on items, all or none, in one go with the items of others who want the same."""
        waiting = Waiting(
            lambda connection, turn: work(connection, turn, items), work, items, rows=len(items)
        )
        answers: list[T] = await self._handed_in(waiting)
        return answers

    async def _handed_in(self, waiting: Waiting) -> Any:
        if self._thread is None:
            raise StoreUnavailable("the store is not open: call open() first")
        self._gathering.put(waiting)
        bound = waiting.loop.call_later(self._patience, self._give_up, waiting)
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            waiting.withdraw()
            raise
        finally:
            bound.cancel()

    async def find(self) -> None:
        """Make sure that the file held is the one at the path, or raise StoreUnavailable."""
        await self.run(lambda _connection, _now: None)

    def _give_up(self, waiting: Waiting) -> None:
        if waiting.withdraw() and not waiting.answer.done():
            waiting.answer.set_exception(
                StoreBusy(f"{self._path} is held by another process; nothing was written, try again")
            )

    def _live(
        self,
        opened: "concurrent.futures.Future[None]",
        ended: "concurrent.futures.Future[None]",
        gathering: Gathering,
    ) -> None:
        ended.set_running_or_notify_cancel()
        try:
            self._work(opened, gathering)
        finally:
            ended.set_result(None)

    def _work(self, opened: "concurrent.futures.Future[None]", gathering: Gathering) -> None:
        opened.set_running_or_notify_cancel()
        try:
            with translated(self._path):
                holding = Holding(self._path, self._opening, self.whereabouts)
                turnstile = Turnstile(self._path)
        except Exception as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        while gathering.wait(LOOK if gathering.has_large or turnstile.is_resting else None):
            if gathering.has_small:
                with turnstile.turn():
                    begun, answers = self._commit(holding, gathering.small)
                _tell(begun, answers)
            if gathering.has_large and turnstile.admits_much():
                with turnstile.turn():
                    begun, answers = self._commit(holding, gathering.large)
                turnstile.rest()
                _tell(begun, answers)
            elif turnstile.is_resting:
                turnstile.look()
        turnstile.close()
        holding.close()

    def _commit(
        self, holding: Holding, gather: Callable[[], list[Waiting]]
    ) -> tuple[list[Waiting], list[Any]]:
        """One transaction for those gathered then who still wait; an answer or an error for each of them."""
        begun: list[Waiting] = []
        try:
            with translated(self._path):
                holding.find()
                connection, clock = holding.connection, holding.clock
                connection.execute("BEGIN IMMEDIATE")
            begun = [waiting for waiting in gather() if waiting.begin()]
            with translated(self._path):
                turn = clock.read(connection)
                answers = [
                    answer
                    for together in in_one_go(begun)
                    for answer in self._attempt_all(connection, together, turn)
                ]
                clock.keep(connection, turn)
            with translated(self._path, unknown=True):
                connection.execute("COMMIT")
                holding.require_in_place()
            return begun, answers
        except Exception as error:
            holding.take_back()
            begun = begun or [waiting for waiting in gather() if waiting.begin()]
            return begun, [copy.copy(error) for _ in begun]

    def _attempt_all(self, connection: apsw.Connection, together: list[Waiting], turn: Turn) -> list[Any]:
        """Tasks that want the same, in one go if it can be."""
        work = together[0].work
        if work is not None and len(together) > 1:
            items = [item for waiting in together for item in waiting.items]
            found = self._attempt(connection, lambda connection, turn: work(connection, turn, items), turn)
            if not isinstance(found, Exception):
                answers = iter(found)
                return [[next(answers) for _ in waiting.items] for waiting in together]
        return [self._attempt(connection, waiting.task, turn) for waiting in together]

    def _attempt(self, connection: apsw.Connection, task: Task, turn: Turn) -> Any:
        """One task in a savepoint; what it raises is its answer, unless SQLite gave up the transaction."""
        connection.execute("SAVEPOINT task")
        try:
            with translated(self._path):
                answer = task(connection, turn)
        except Exception as error:
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO task")
            answer = error
        connection.execute("RELEASE task")
        return answer


def _tell(group: list[Waiting], answers: list[Any]) -> None:
    """Wake each event loop once, with all the answers that are for it."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for waiting, answer in zip(group, answers, strict=True):
        by_loop.setdefault(waiting.loop, []).append((waiting.answer, answer))
    for loop, told in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, told)
        except RuntimeError:
            # The loop is closed: nobody is left to be told, and the work is done.
            continue


def _resolve(told: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, answer in told:
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
