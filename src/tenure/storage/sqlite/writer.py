"""The one writer of this process: a thread that owns the writing connection and commits in groups.

SQLite admits one writer at a time and charges a disk sync for every commit. So all writes of a process go
to one thread, which takes whatever has gathered since the last commit, runs it in one transaction, syncs
once, and only then answers. A lone write goes at once; a hundred concurrent ones share a sync.

Within the transaction every task has a savepoint of its own: one that fails takes back its own changes and
nobody else's. Neighbours that want the same done to items of theirs have it done in one go, which costs
little more than for one of them; should that fail, each has a go of its own after all. If the commit itself
fails, nothing happened, and every task of the group is told so with an error of its own.

Writers of several processes queue at a turnstile, and one at a time has SQLite's own lock. A task that waits
for either longer than its patience is withdrawn before it has begun, and its caller told so.

Time is read once a transaction, after the lock is held.
"""

import asyncio
import concurrent.futures
import copy
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import apsw

from tenure.core.errors import StoreBusy, StoreUnavailable
from tenure.storage.sqlite.clock import Turn
from tenure.storage.sqlite.connection import Opening, translated
from tenure.storage.sqlite.holding import Holding
from tenure.storage.sqlite.turnstile import Turnstile
from tenure.storage.sqlite.whereabouts import Whereabouts

T = TypeVar("T")
Item = TypeVar("Item")
Task = Callable[[apsw.Connection, Turn], Any]
"""Work inside a transaction: it is given the connection, the store's time and the transaction's number."""

Work = Callable[[apsw.Connection, Turn, Sequence[Any]], list[Any]]
"""The same on items, with an answer for each, however many there are."""

_MOST_A_GROUP = 256
_MOST_IN_ONE_GO = 1_000


class _Waiting:
    """A task on its way to the writer. Either the writer begins it or its caller withdraws it, never both."""

    def __init__(self, task: Task, work: Work | None = None, items: Sequence[Any] = ()) -> None:
        """With `work`, the task is that work on those items, and may be done with others."""
        self.task = task
        self.work = work
        self.items = items
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self.loop.create_future()
        self._once = threading.Lock()

    def begin(self) -> bool:
        return self._once.acquire(blocking=False)

    withdraw = begin


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
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()

    async def open(self) -> None:
        """Open the file, which is made if there is none."""
        async with self._turning:
            if self._thread is not None:
                return
            opened: concurrent.futures.Future[None] = concurrent.futures.Future()
            waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
            thread = threading.Thread(
                target=self._live, args=(opened, waiting), name="tenure-writer", daemon=True
            )
            thread.start()
            try:
                async with asyncio.timeout(self._patience):
                    await asyncio.wrap_future(opened)
            except TimeoutError:
                waiting.put(None)
                raise StoreBusy(
                    f"{self._path} could not be opened within {self._patience:g} s: another process holds it,"
                    " or its disk does not answer"
                ) from None
            except BaseException:
                waiting.put(None)
                raise
            self._thread, self._waiting = thread, waiting

    async def close(self) -> None:
        """Do what was handed in, then close the file."""
        async with self._turning:
            if self._thread is not None:
                thread, self._thread = self._thread, None
                self._waiting.put(None)
                await asyncio.to_thread(thread.join, 2 * self._patience)
                if thread.is_alive():
                    raise StoreBusy(f"{self._path} is held by another process; it could not be closed")

    async def run(self, task: Callable[[apsw.Connection, Turn], T]) -> T:
        """Run a task in a transaction; when the answer comes, it is durable."""
        answer: T = await self._handed_in(_Waiting(task))
        return answer

    async def run_on(
        self, work: Callable[[apsw.Connection, Turn, Sequence[Item]], list[T]], items: Sequence[Item]
    ) -> list[T]:
        """Do some work on items, all or none, in one go with the items of others who want the same."""
        waiting = _Waiting(lambda connection, turn: work(connection, turn, items), work, items)
        answers: list[T] = await self._handed_in(waiting)
        return answers

    async def _handed_in(self, waiting: _Waiting) -> Any:
        if self._thread is None:
            raise StoreUnavailable("the store is not open: call open() first")
        self._waiting.put(waiting)
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

    def _give_up(self, waiting: _Waiting) -> None:
        if waiting.withdraw() and not waiting.answer.done():
            waiting.answer.set_exception(
                StoreBusy(f"{self._path} is held by another process; nothing was written, try again")
            )

    def _live(
        self, opened: "concurrent.futures.Future[None]", waiting: "queue.SimpleQueue[_Waiting | None]"
    ) -> None:
        opened.set_running_or_notify_cancel()
        try:
            with translated(self._path):
                holding = Holding(self._path, self._opening, self.whereabouts)
                turnstile = Turnstile(self._path)
        except Exception as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        while group := _next_group(waiting):
            with turnstile.turn():
                begun, answers = self._commit(holding, group)
            _tell(begun, answers)
        turnstile.close()
        holding.close()

    def _commit(self, holding: Holding, group: list[_Waiting]) -> tuple[list[_Waiting], list[Any]]:
        """One transaction for those of the group still waiting; an answer or an error for each of them."""
        begun: list[_Waiting] = []
        try:
            with translated(self._path):
                holding.find()
                connection, clock = holding.connection, holding.clock
                connection.execute("BEGIN IMMEDIATE")
            begun = [waiting for waiting in group if waiting.begin()]
            with translated(self._path):
                turn = clock.read(connection)
                answers = [
                    answer
                    for together in _in_one_go(begun)
                    for answer in self._attempt_all(connection, together, turn)
                ]
                clock.keep(connection, turn)
            with translated(self._path, unknown=True):
                connection.execute("COMMIT")
                holding.require_in_place()
            return begun, answers
        except Exception as error:
            holding.take_back()
            begun = begun or [waiting for waiting in group if waiting.begin()]
            return begun, [copy.copy(error) for _ in begun]

    def _attempt_all(self, connection: apsw.Connection, together: list[_Waiting], turn: Turn) -> list[Any]:
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


def _next_group(waiting: "queue.SimpleQueue[_Waiting | None]") -> list[_Waiting]:
    """Whatever has gathered; waits only while there is nothing. Empty at the end."""
    group: list[_Waiting] = []
    while len(group) < _MOST_A_GROUP:
        try:
            first = waiting.get(block=not group)
        except queue.Empty:
            break
        if first is None:
            if group:
                waiting.put(None)
            break
        group.append(first)
    return group


def _in_one_go(group: list[_Waiting]) -> Iterator[list[_Waiting]]:
    """The group in its order, with neighbours together that want the same, within bounds."""
    together: list[_Waiting] = []
    size = 0
    for waiting in group:
        size += len(waiting.items)
        is_alike = waiting.work is not None and together and together[0].work == waiting.work
        if together and not (is_alike and size <= _MOST_IN_ONE_GO):
            yield together
            together, size = [], len(waiting.items)
        together.append(waiting)
    if together:
        yield together


def _tell(group: list[_Waiting], answers: list[Any]) -> None:
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
