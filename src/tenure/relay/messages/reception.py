"""Puts on record which queue leads a worker, and since when it cannot receive from it."""

import time

from tenure.storage.contract.store import Store

LEAST_PAUSE = 1.0
"""Seconds between two notes at least, of a broker that comes and goes."""

OTHER_PROBLEM_AFTER = 60.0
"""Seconds after which another problem takes the place of the one on record."""


class Reception:
    """What is on record of one worker, and what should be."""

    def __init__(self, store: Store, worker: str, queue: str) -> None:
        self._store = store
        self._worker = worker
        self._queue = queue
        self.problem: str | None = None
        """Why the last call to the broker has failed, if it has."""
        self._told: str | None = None
        self._told_at: float | None = None

    @property
    def is_failing(self) -> bool:
        """Whether the last call to the broker has failed."""
        return self.problem is not None

    def note(self, problem: str | None) -> bool:
        """Note how the last call went, with what was wrong; returns whether that is news."""
        is_news = (problem is None) != (self.problem is None)
        self.problem = problem
        return is_news

    async def tell(self) -> float:
        """Put it on record, unless it is; returns how long to rest, unless there is news."""
        now = time.monotonic()
        if self._told_at is not None and now - self._told_at < LEAST_PAUSE:
            return LEAST_PAUSE - (now - self._told_at)
        if self._told_at is None or self._is_other(now):
            problem = self.problem
            await self._store.note_receiver(self._worker, self._queue, problem)
            self._told, self._told_at = problem, time.monotonic()
        return OTHER_PROBLEM_AFTER

    def _is_other(self, now: float) -> bool:
        if (self.problem is None) != (self._told is None):
            return True
        return self.problem != self._told and now - (self._told_at or 0.0) >= OTHER_PROBLEM_AFTER
