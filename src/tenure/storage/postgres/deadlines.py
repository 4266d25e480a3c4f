"""Deadlines of many waits, by one timer.

A timer of its own costs a statement as much as everything else around it, and next to none of them is ever
needed. So the loop has one, set for the earliest deadline there was when it was set; when it rings, it is
set anew for the earliest there is then.

Who is told that its time is over may have something to tidy up, and wait for that: it is told again.
"""

import asyncio
from collections.abc import Awaitable
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN = 1.0
"""Seconds after which who has been told, and still waits, is told once more."""


class _Wait:
    """Somebody's wait. Whether others have asked its task to stop as well, the task's own count tells."""

    __slots__ = ("asked_before", "deadline", "rings", "task")

    def __init__(self, task: asyncio.Task[Any], deadline: float) -> None:
        self.task = task
        self.deadline = deadline
        self.asked_before = task.cancelling()
        self.rings = 0

    def end(self, now: float) -> None:
        self.rings += 1
        self.deadline = now + AGAIN
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
            if wait.rings and task.cancelling() == wait.asked_before + wait.rings:
                raise TimeoutError from None
            raise
        finally:
            self._waits.discard(wait)
            for _ in range(wait.rings):
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
        for wait in self._waits:
            if wait.deadline <= now:
                wait.end(now)
        if self._waits:
            self._set(min(wait.deadline for wait in self._waits))
