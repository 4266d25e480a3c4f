"""A process that enqueues as much as one call may, again and again: `flood.py FILE CALLERS TIMES`."""

import asyncio
import sys

from tenure.core.errors import StoreBusy
from tenure.core.model.job import NewJob
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.storage.sqlite.store import SqliteStore

BATCH = [NewJob(definition="unserved", queue="elsewhere")] * LARGEST_BATCH


async def flood(path: str, callers: int, times: int) -> None:
    """A few callers at once."""
    store = SqliteStore(path, create=False)
    await store.open()
    await asyncio.gather(*(call(store, times) for _ in range(callers)))
    await store.close()


async def call(store: SqliteStore, times: int) -> None:
    """So many batches, one after the other."""
    while times:
        try:
            await store.enqueue(BATCH)
        except StoreBusy:
            continue  # as the error says: nothing was written, try again
        times -= 1


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
