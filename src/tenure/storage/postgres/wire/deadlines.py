"""Deadlines of many waits, kept by one timer.

A timer for each statement costs as much as all other work around it, and almost none of them is ever needed.
So there is one timer, set for the earliest deadline known at that moment; when it fires, it is set again for
the earliest that is left.

A cancelled waiter may block in clean-up; it is cancelled again after a second.
"""

import asyncio
from collections.abc import Awaitable
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN = 1.0
"""Seconds after which a waiter that still waits is cancelled once more."""


class _Wait:
    """One wait. The task's own count of cancellations shows whether other code has cancelled it too."""

    __slots__ = ("cancelled_before", "cancels", "deadline", "task")

    def __init__(self, task: asyncio.Task[Any], deadline: float) -> None:
        self.task = task
        self.deadline = deadline
        self.cancelled_before = task.cancelling()
        self.cancels = 0

    def cancel(self, now: float) -> None:
        self.cancels += 1
        self.deadline = now + AGAIN
        self.task.cancel()


class Deadlines:
    """Ends waits that last too long; for one loop."""

    def __init__(self) -> None:
        self._waits: set[_Wait] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = inf

    async def keep(self, deadline: float, work: Awaitable[T]) -> T:
        """Await the work. Raises TimeoutError when it is not done by the loop's time `deadline`."""
        task: Any = asyncio.current_task()
        wait = _Wait(task, deadline)
        self._waits.add(wait)
        if deadline < self._fires_at:
            self._set(deadline)
        try:
            return await work
        except asyncio.CancelledError:
            if wait.cancels and task.cancelling() == wait.cancelled_before + wait.cancels:
                raise TimeoutError from None
            raise
        finally:
            self._waits.discard(wait)
            for _ in range(wait.cancels):
                task.uncancel()

    def forget(self) -> None:
        """Remove the timer from the loop; nothing waits any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._fires_at = None, inf

    def _set(self, deadline: float) -> None:
        self.forget()
        self._timer, self._fires_at = asyncio.get_running_loop().call_at(deadline, self._fire), deadline

    def _fire(self) -> None:
        self._timer, self._fires_at = None, inf
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if wait.deadline <= now:
                wait.cancel(now)
        if self._waits:
            self._set(min(wait.deadline for wait in self._waits))
