"""The tasks that wait for the writer of this process, and which of them share a commit.

A group is small enough that pending for it does no harm: many small tasks, or one large task alone. Urgent
tasks go first, whatever came before them: heartbeats, which keep leases alive. A large task may have to wait
until other processes have written theirs; small tasks go on meanwhile. Otherwise tasks keep the order in
which they came.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw

from tenure.storage.sqlite.file.clock import TransactionTime

Task = Callable[[apsw.Connection, TransactionTime], Any]
"""Work inside a transaction: it is given the connection, the store's time and the transaction's number."""

Work = Callable[[apsw.Connection, TransactionTime, Sequence[Any]], list[Any]]
"""The same on any number of items, with an answer for each."""

MOST_ROWS = 2_000
"""How many rows the tasks of a group may write together; a task that writes more is a large one."""

_MOST_TASKS = 256
_MOST_IN_ONE_GO = 1_000


class PendingWrite:
    """A task for the writer. Either the writer begins it or its caller withdraws it, never both."""

    def __init__(
        self,
        task: Task,
        work: Work | None = None,
        items: Sequence[Any] = (),
        *,
        rows: int = 1,
        is_urgent: bool = False,
    ) -> None:
        """With `work`, the task is that work on those items, and may be merged with others."""
        self.task = task
        self.work = work
        self.items = items
        self.rows = rows
        self.is_urgent = is_urgent
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self.loop.create_future()
        self._once = threading.Lock()

    def begin(self) -> bool:
        return self._once.acquire(blocking=False)

    withdraw = begin


class CommitQueue:
    """Tasks from any thread for the writing thread; only that one takes them out."""

    def __init__(self) -> None:
        self._came: queue.SimpleQueue[PendingWrite | None] = queue.SimpleQueue()
        self._urgent: queue.SimpleQueue[PendingWrite] = queue.SimpleQueue()
        self._small: deque[PendingWrite] = deque()
        self._large: deque[PendingWrite] = deque()
        self._is_over = False

    def put(self, pending: PendingWrite) -> None:
        """Add a task."""
        if pending.is_urgent:
            self._urgent.put(pending)
        self._came.put(pending)  # an urgent task as well: this wakes the writer

    def end(self) -> None:
        """Add no more tasks."""
        self._came.put(None)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for a task, at most so long; False at the end."""
        if not self._small and (self._large or not self._is_over):
            with suppress(queue.Empty):
                self._sort(self._came.get(timeout=seconds))
        self._take_in()
        return self.has_small or self.has_large or not self._is_over

    @property
    def has_small(self) -> bool:
        """Whether a small or urgent task waits."""
        return bool(self._small) or not self._urgent.empty()

    @property
    def has_large(self) -> bool:
        """Whether a large task waits."""
        return bool(self._large)

    def small(self) -> list[PendingWrite]:
        """The next group: urgent tasks, then small ones, as many as may go together."""
        self._take_in()
        group = [self._urgent.get() for _ in range(self._urgent.qsize())]
        rows = 0
        while self._small and len(group) < _MOST_TASKS:
            rows += self._small[0].rows
            if rows > MOST_ROWS:
                break
            group.append(self._small.popleft())
        return group

    def large(self) -> list[PendingWrite]:
        """The next large task, alone."""
        return [self._large.popleft()] if self._large else []

    def _take_in(self) -> None:
        for _ in range(self._came.qsize()):
            self._sort(self._came.get())

    def _sort(self, pending: PendingWrite | None) -> None:
        if pending is None:
            self._is_over = True
        elif pending.is_urgent:  # it is in a queue of its own
            pass
        elif pending.rows > MOST_ROWS:
            self._large.append(pending)
        else:
            self._small.append(pending)


def in_one_go(group: list[PendingWrite]) -> Iterator[list[PendingWrite]]:
    """The group in its order, with neighbours that do the same work together, within bounds."""
    together: list[PendingWrite] = []
    size = 0
    for pending in group:
        size += len(pending.items)
        is_alike = pending.work is not None and together and together[0].work == pending.work
        if together and not (is_alike and size <= _MOST_IN_ONE_GO):
            yield together
            together, size = [], len(pending.items)
        together.append(pending)
    if together:
        yield together
