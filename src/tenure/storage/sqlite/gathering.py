"""What waits for the writer of this process, and what of it shares a commit.

A group is as large as nobody minds waiting for: many small tasks, or one large task alone. What is urgent
goes first, whatever came before it: signs of life, on which leases hang. A large task may have to wait until
other processes have written theirs; what is small goes on meanwhile. Otherwise tasks keep the order in which
they came.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import apsw

from tenure.storage.sqlite.clock import Turn

Task = Callable[[apsw.Connection, Turn], Any]
"""Work inside a transaction: it is given the connection, the store's time and the transaction's number."""

Work = Callable[[apsw.Connection, Turn, Sequence[Any]], list[Any]]
"""The same on items, with an answer for each, however many there are."""

MOST_ROWS = 2_000
"""How many rows the tasks of a group may write together; a task that writes more is a large one."""

_MOST_TASKS = 256
_MOST_IN_ONE_GO = 1_000


class Waiting:
    """A task on its way to the writer. Either the writer begins it or its caller withdraws it, never both."""

    def __init__(
        self,
        task: Task,
        work: Work | None = None,
        items: Sequence[Any] = (),
        *,
        rows: int = 1,
        is_urgent: bool = False,
    ) -> None:
        """With `work`, the task is that work on those items, and may be done with others."""
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


class Gathering:
    """Tasks of any thread for the one that writes; only that one takes them out."""

    def __init__(self) -> None:
        self._came: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._urgent: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
        self._small: deque[Waiting] = deque()
        self._large: deque[Waiting] = deque()
        self._is_over = False

    def put(self, waiting: Waiting) -> None:
        """Let a task wait."""
        if waiting.is_urgent:
            self._urgent.put(waiting)
        self._came.put(waiting)  # what is urgent as well: that wakes the writer

    def end(self) -> None:
        """Nothing more will come."""
        self._came.put(None)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until there is something to do, at most so long; false at the end."""
        if not self._small and (self._large or not self._is_over):
            with suppress(queue.Empty):
                self._sort(self._came.get(timeout=seconds))
        self._take_in()
        return bool(self._small or self._large) or not self._is_over

    @property
    def has_small(self) -> bool:
        """Whether anything but large tasks is there."""
        return bool(self._small) or not self._urgent.empty()

    @property
    def has_large(self) -> bool:
        """Whether a large task is there."""
        return bool(self._large)

    def small(self) -> list[Waiting]:
        """The next group: what is urgent, then small tasks, as many as may go together."""
        self._take_in()
        group = [self._urgent.get() for _ in range(self._urgent.qsize())]
        rows = 0
        while self._small and len(group) < _MOST_TASKS:
            rows += self._small[0].rows
            if rows > MOST_ROWS:
                break
            group.append(self._small.popleft())
        return group

    def large(self) -> list[Waiting]:
        """The next large task, alone."""
        return [self._large.popleft()] if self._large else []

    def _take_in(self) -> None:
        for _ in range(self._came.qsize()):
            self._sort(self._came.get())

    def _sort(self, waiting: Waiting | None) -> None:
        if waiting is None:
            self._is_over = True
        elif waiting.is_urgent:  # it stands in a queue of its own
            pass
        elif waiting.rows > MOST_ROWS:
            self._large.append(waiting)
        else:
            self._small.append(waiting)


def in_one_go(group: list[Waiting]) -> Iterator[list[Waiting]]:
    """The group in its order, with neighbours together that want the same, within bounds."""
    together: list[Waiting] = []
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
