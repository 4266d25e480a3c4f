"""A process that enqueues as much as one call may, again and again: `flood.py FILE CALLERS SECONDS`."""

import asyncio
import sys
import time

from tenure.core.errors import StoreBusy
from tenure.core.model.job import NewJob
from tenure.core.values.bounds import LARGEST_BATCH
from tenure.storage.sqlite.store import SqliteStore

BATCH = [NewJob(definition="unserved", queue="elsewhere")] * LARGEST_BATCH


async def flood(path: str, callers: int, seconds: float) -> None:
    """A few callers at once."""
    store = SqliteStore(path, create=False)
    await store.open()
    await asyncio.gather(*(call(store, time.monotonic() + seconds) for _ in range(callers)))
    await store.close()


async def call(store: SqliteStore, ends_at: float) -> None:
    """One batch after the other, until then."""
    while time.monotonic() < ends_at:
        try:
            await store.enqueue(BATCH)
        except StoreBusy:
            continue  # as the error says: nothing was written, try again


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
