"""Writes the lines and events of attempts to the store."""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence

from tenure.core.errors import DataRefused, InvalidInput, StoreRefused
from tenure.core.model.lease import Lease
from tenure.core.model.trail import Trail
from tenure.engine.worker.log_batches import log_batches
from tenure.engine.worker.slot_pool import SlotPool
from tenure.storage.contract.store import Store


class TrailRecorder:
    """Records the output of the attempts of one slot pool."""

    def __init__(self, store: Store, worker: str, pool: SlotPool) -> None:
        self._store = store
        self._worker = worker
        self._pool = pool
        self._recording = asyncio.Lock()

    async def record(self) -> None:
        """Record everything new; must run before outcomes are settled, which ends the leases."""
        async with self._recording:  # else a batch that another call still writes would come too late
            batches = deque(log_batches(self._take()))
            refusal: DataRefused | None = None
            try:
                while batches:
                    try:
                        recorded = await self._store.record(self._worker, batches[0])
                        batches.extendleft(self._apart(batches.popleft(), recorded.locked))
                    except DataRefused as refused:
                        refusal = refused
                        batches.extendleft(reversed(_split(batches.popleft())))
            except (InvalidInput, StoreRefused):
                # The store will never accept it: it must not block the rest, nor the outcomes.
                batches.popleft()
                raise
            finally:
                self._put_back([trail for batch in batches for trail in batch])
        if refusal is not None:
            raise refusal  # once everything else is recorded

    def _take(self) -> list[Trail]:
        return [attempt.take_trail() for attempt in self._pool.held() if attempt.has_output]

    def _apart(self, batch: Sequence[Trail], locked: Collection[Lease]) -> list[list[Trail]]:
        """Of trails whose jobs are locked those to record at once, each alone; the others come again later.

        The handlers of the others still run, and one of them holds the lock: a transaction of its own.
        """
        if not locked:
            return []
        passed = [trail for trail in batch if trail.lease in locked]
        self._put_back([trail for trail in passed if self._pool.runs(trail.lease)])
        return [[trail] for trail in passed if not self._pool.runs(trail.lease)]

    def _put_back(self, trails: Sequence[Trail]) -> None:
        """Keep trails that could not be recorded, in order."""
        by_lease = {attempt.lease: attempt for attempt in self._pool.held()} if trails else {}
        for trail in reversed(trails):
            if trail.lease in by_lease:
                by_lease[trail.lease].put_back(trail)


def _split(batch: list[Trail]) -> list[list[Trail]]:
    """Halve a refused batch; of a single trail that has lines and events, keep the lines."""
    if len(batch) > 1:
        middle = len(batch) // 2
        return [batch[:middle], batch[middle:]]
    [trail] = batch
    return [[Trail(trail.lease, trail.lines, ())]] if trail.notes and trail.lines else []
