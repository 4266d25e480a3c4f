"""The one writer of this process: a thread that owns the writing connection and commits in groups.

SQLite admits one writer at a time and needs a disk sync for every commit. So all writes of a process go to
one thread, which takes the tasks that came since the last commit, runs them in one transaction, syncs once,
and only then answers. A lone write goes at once; a hundred concurrent ones share a sync.

Within the transaction every task has a savepoint of its own: a task that fails rolls back its own changes
only. Neighbours that do the same work on different items are merged into one run, which costs little more
than one of them; if that fails, each runs by itself. If the commit itself fails, nothing happened, and every
task of the group gets an error of its own.

Writers of several processes queue at a write lock, and one at a time has SQLite's own lock. The group of
tasks is chosen when both are held, so that it includes what became urgent meanwhile. A task that waits for
either longer than its patience is withdrawn before it has begun, and its caller gets StoreBusy.

Time is read once per transaction, after the lock is held.
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
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.commit_queue import CommitQueue, PendingWrite, Task, in_one_go
from tenure.storage.sqlite.file.connection import Opening, translated
from tenure.storage.sqlite.file.file_identity import FileIdentity
from tenure.storage.sqlite.file.open_file import OpenFile
from tenure.storage.sqlite.file.write_lock import WriteLock

T = TypeVar("T")
Item = TypeVar("Item")
LOOK = 0.005
"""Seconds between two checks whether a large task may be written now."""


class Writer:
    """Runs tasks in the writing thread, in the order in which they came."""

    def __init__(self, path: Path, opening: Opening) -> None:
        """A task waits for other processes as long as `opening.patience`, then it is withdrawn."""
        self._path = path
        self._opening = opening
        self._patience = opening.patience
        self.file_identity = FileIdentity(path)
        self._opening_or_closing = asyncio.Lock()
        self._thread: threading.Thread | None = None
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._queue = CommitQueue()

    async def open(self) -> None:
        """Open the file; it is created if it does not exist."""
        async with self._opening_or_closing:
            if self._thread is not None:
                return
            opened: concurrent.futures.Future[None] = concurrent.futures.Future()
            queue = CommitQueue()
            ended: concurrent.futures.Future[None] = concurrent.futures.Future()
            thread = threading.Thread(
                target=self._live, args=(opened, ended, queue), name="tenure-writer", daemon=True
            )
            thread.start()
            try:
                async with asyncio.timeout(self._patience):
                    await asyncio.wrap_future(opened)
            except TimeoutError:
                queue.end()
                raise StoreBusy(
                    f"{self._path} could not be opened within {self._patience:g} s: another process holds it,"
                    " or its disk does not answer"
                ) from None
            except BaseException:
                queue.end()
                raise
            self._thread, self._ended, self._queue = thread, ended, queue

    async def close(self) -> None:
        """Finish pending tasks, then close the file."""
        async with self._opening_or_closing:
            if self._thread is not None:
                thread, ended, self._thread = self._thread, self._ended, None
                self._queue.end()
                # Not in a thread: none can be started any more while a program ends.
                await asyncio.wait([asyncio.wrap_future(ended)], timeout=2 * self._patience)
                if not ended.done():
                    raise StoreBusy(f"{self._path} is held by another process; it could not be closed")
                thread.join()

    async def run(
        self, task: Callable[[apsw.Connection, TransactionTime], T], *, rows: int = 1, is_urgent: bool = False
    ) -> T:
        """Run a task in a transaction; when this returns, it is durable.

        `rows` is about how many it writes: a task that writes many goes alone. Urgent tasks go first.
        """
        answer: T = await self._submit(PendingWrite(task, rows=rows, is_urgent=is_urgent))
        return answer

    async def run_on(
        self,
        work: Callable[[apsw.Connection, TransactionTime, Sequence[Item]], list[T]],
        items: Sequence[Item],
    ) -> list[T]:
        """Do some work on items, all or none, merged with calls that do the same work on other items."""
        pending = PendingWrite(
            lambda connection, turn: work(connection, turn, items), work, items, rows=len(items)
        )
        answers: list[T] = await self._submit(pending)
        return answers

    async def _submit(self, pending: PendingWrite) -> Any:
        if self._thread is None:
            raise StoreUnavailable("the store is not open: call open() first")
        self._queue.put(pending)
        bound = pending.loop.call_later(self._patience, self._give_up, pending)
        try:
            return await pending.answer
        except asyncio.CancelledError:
            pending.withdraw()
            raise
        finally:
            bound.cancel()

    async def find(self) -> None:
        """Make sure that the open file is the one at the path, or raise StoreUnavailable."""
        await self.run(lambda _connection, _now: None)

    def _give_up(self, pending: PendingWrite) -> None:
        if pending.withdraw() and not pending.answer.done():
            pending.answer.set_exception(
                StoreBusy(f"{self._path} is held by another process; nothing was written, try again")
            )

    def _live(
        self,
        opened: "concurrent.futures.Future[None]",
        ended: "concurrent.futures.Future[None]",
        queue: CommitQueue,
    ) -> None:
        ended.set_running_or_notify_cancel()
        try:
            self._work(opened, queue)
        finally:
            ended.set_result(None)

    def _work(self, opened: "concurrent.futures.Future[None]", queue: CommitQueue) -> None:
        opened.set_running_or_notify_cancel()
        try:
            with translated(self._path):
                open_file = OpenFile(self._path, self._opening, self.file_identity)
                write_lock = WriteLock(self._path)
        except Exception as error:
            opened.set_exception(error)
            return
        opened.set_result(None)
        while queue.wait(LOOK if queue.has_large or write_lock.is_resting else None):
            if queue.has_small:
                with write_lock.turn():
                    begun, answers = self._commit(open_file, queue.small)
                _deliver(begun, answers)
            if queue.has_large and write_lock.admits_large():
                with write_lock.turn():
                    begun, answers = self._commit(open_file, queue.large)
                write_lock.rest()
                _deliver(begun, answers)
            elif write_lock.is_resting:
                write_lock.look()
        write_lock.close()
        open_file.close()

    def _commit(
        self, open_file: OpenFile, gather: Callable[[], list[PendingWrite]]
    ) -> tuple[list[PendingWrite], list[Any]]:
        """Commit the next group of tasks that still wait; an answer or an error for each of them."""
        begun: list[PendingWrite] = []
        try:
            with translated(self._path):
                open_file.find()
                connection, clock = open_file.connection, open_file.clock
                connection.execute("BEGIN IMMEDIATE")
            begun = [pending for pending in gather() if pending.begin()]
            with translated(self._path):
                turn = clock.read(connection)
                answers = [
                    answer
                    for together in in_one_go(begun)
                    for answer in self._run_together(connection, together, turn)
                ]
                clock.keep(connection, turn)
            with translated(self._path, unknown=True):
                connection.execute("COMMIT")
                open_file.require_in_place()
            return begun, answers
        except Exception as error:
            open_file.roll_back()
            begun = begun or [pending for pending in gather() if pending.begin()]
            return begun, [copy.copy(error) for _ in begun]

    def _run_together(
        self, connection: apsw.Connection, together: list[PendingWrite], turn: TransactionTime
    ) -> list[Any]:
        """Run tasks that do the same work, merged if possible."""
        work = together[0].work
        if work is not None and len(together) > 1:
            items = [item for pending in together for item in pending.items]
            found = self._run_task(connection, lambda connection, turn: work(connection, turn, items), turn)
            if not isinstance(found, Exception):
                answers = iter(found)
                return [[next(answers) for _ in pending.items] for pending in together]
        return [self._run_task(connection, pending.task, turn) for pending in together]

    def _run_task(self, connection: apsw.Connection, task: Task, turn: TransactionTime) -> Any:
        """Run one task in a savepoint; what it raises is its answer, unless SQLite ended the transaction."""
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


def _deliver(group: list[PendingWrite], answers: list[Any]) -> None:
    """Wake each event loop once, with all its answers."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for pending, answer in zip(group, answers, strict=True):
        by_loop.setdefault(pending.loop, []).append((pending.answer, answer))
    for loop, results in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, results)
        except RuntimeError:
            # The loop is closed: no caller is left, and the work is done.
            continue


def _resolve(results: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, answer in results:
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
