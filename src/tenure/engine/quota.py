"""How many jobs may stand in a queue before no more are taken: back-pressure for who may be told to wait.

The bound is approximate. A queue's depth is read from running totals, at most once a second in each process,
and what the process itself has recorded since is added: several processes may go beyond it by what they
record in a second, one by what it records at once, and a queue that was full stays so for up to a second
after it has room again. What is known already is never refused: who asks again for the job of a key is
answered with it.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from tenure.core.errors import QueueFull
from tenure.core.job import NewJob
from tenure.storage.contract import Store

FRESH = 1.0
"""Seconds for which one look at a queue answers everybody."""

MOST_QUEUES = 1_000
"""How many queues are remembered: callers make up their names."""


@dataclass
class _Depth:
    """How many jobs stand in a queue, as of when, with those that were recorded here since."""

    jobs: int
    at: float


class Quota:
    """Says whether queues have room for more."""

    def __init__(self, store: Store, most: int) -> None:
        """`most` is how many jobs may stand in one queue; 0 for any number."""
        self._store = store
        self._most = most
        self._depths: dict[str, _Depth] = {}
        self._looking = asyncio.Lock()

    async def admit(self, jobs: Sequence[NewJob]) -> None:
        """Raise QueueFull when one of the jobs is new and its queue has no room."""
        if not self._most:
            return
        full = {queue for queue in {job.queue for job in jobs} if not await self.has_room([queue])}
        late = [job for job in jobs if job.queue in full]
        keys = {(job.namespace, job.scope, job.key) for job in late if job.key is not None}
        known = await self._store.known_keys(keys) if keys else set()
        for job in late:
            if (job.namespace, job.scope, job.key) not in known:
                raise QueueFull(job.queue)

    async def has_room(self, queues: Iterable[str]) -> bool:
        """Whether each of the queues may take more."""
        if self._most:
            for queue in queues:
                if (await self._depth(queue)).jobs >= self._most:
                    return False
        return True

    def count(self, queues: Iterable[str]) -> None:
        """A job was put in line in each of the queues; nobody has to look again to know of it."""
        for queue in queues:
            if depth := self._depths.get(queue):
                depth.jobs += 1

    async def _depth(self, queue: str) -> _Depth:
        if (depth := self._seen(queue)) is not None:
            return depth
        async with self._looking:  # one of many callers looks for all
            if (depth := self._seen(queue)) is None:
                at = monotonic()
                depth = _Depth(await self._store.depth(queue), at)
                if len(self._depths) >= MOST_QUEUES:
                    self._depths.clear()
                self._depths[queue] = depth
            return depth

    def _seen(self, queue: str) -> _Depth | None:
        depth = self._depths.get(queue)
        return depth if depth is not None and monotonic() - depth.at <= FRESH else None
