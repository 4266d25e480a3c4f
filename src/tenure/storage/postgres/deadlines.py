"""Deadlines of many waits, by one timer.

A timer of its own costs a statement as much as everything else around it, and next to none of them is ever
needed. So the loop has one, set for the earliest deadline there was when it was set; when it rings, it is
set anew for the earliest there is then.
"""

import asyncio
from collections.abc import Awaitable
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")


class _Wait:
    """Somebody's wait. Whether others have asked its task to stop as well, the task's own count tells."""

    __slots__ = ("asked_before", "deadline", "is_over", "task")

    def __init__(self, task: asyncio.Task[Any], deadline: float) -> None:
        self.task = task
        self.deadline = deadline
        self.asked_before = task.cancelling()
        self.is_over = False

    def end(self) -> None:
        self.is_over = True
        self.task.cancel()


class Deadlines:
    """Ends waits that last too long; for one loop."""

    def __init__(self) -> None:
        self._waits: set[_Wait] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = inf

    async def keep(self, deadline: float, work: Awaitable[T]) -> T:
        """Await the work. Raises TimeoutError when it is not done by the loop's time `deadline`."""
        task: Any = asyncio.current_task()
        wait = _Wait(task, deadline)
        self._waits.add(wait)
        if deadline < self._rings_at:
            self._set(deadline)
        try:
            return await work
        except asyncio.CancelledError:
            if wait.is_over and task.cancelling() == wait.asked_before + 1:
                raise TimeoutError from None
            raise
        finally:
            self._waits.discard(wait)
            if wait.is_over:
                task.uncancel()

    def forget(self) -> None:
        """Nobody waits any more; nothing is left on the loop."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._rings_at = None, inf

    def _set(self, deadline: float) -> None:
        self.forget()
        self._timer, self._rings_at = asyncio.get_running_loop().call_at(deadline, self._ring), deadline

    def _ring(self) -> None:
        self._timer, self._rings_at = None, inf
        now = asyncio.get_running_loop().time()
        running = [wait for wait in self._waits if not wait.is_over]
        for wait in running:
            if wait.deadline <= now:
                wait.end()
        if left := [wait.deadline for wait in running if not wait.is_over]:
            self._set(min(left))
