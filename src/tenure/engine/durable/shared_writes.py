"""Writes what many attempts have to keep: one write at a time, and what comes meanwhile shares the next.

While the store is away a write is repeated: what it keeps has happened, and the handler waits for it. That
ends with its attempt, when the lease is lost at the latest.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from tenure.core.errors import StoreBusy, StoreUnavailable
from tenure.core.model.lease import Lease

Item = TypeVar("Item")
Result = TypeVar("Result")
T = TypeVar("T")

MOST_TOGETHER = 500
"""How many items one write may have."""

MOST_BYTES = 4 << 20
"""How many bytes one write may have, but for a single item."""

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
"""Seconds between two tries while the store is away."""


class _Waiting(NamedTuple, Generic[Item, Result]):
    lease: Lease
    item: Item
    size: int
    written: "asyncio.Future[Result]"


class SharedWrites(Generic[Item, Result]):
    """Items of several attempts for one verb of the store, which answers each in their order."""

    def __init__(
        self,
        write: Callable[[Sequence[tuple[Lease, Item]]], Awaitable[Sequence[Result]]],
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._write = write
        self._tasks = tasks
        self._waiting: list[_Waiting[Item, Result]] = []
        self._is_writing = False

    async def put(self, lease: Lease, item: Item, size: int) -> Result:
        """Write an item, and return the store's answer."""
        written: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(lease, item, size, written))
        if not self._is_writing:
            self._is_writing = True
            self._tasks.create_task(self._write_all())
        return await written

    async def _write_all(self) -> None:
        try:
            while batch := self._next_batch():
                await self._write_batch(batch)
        finally:
            self._is_writing = False

    def _next_batch(self) -> list[_Waiting[Item, Result]]:
        """What to write next; what nobody waits for any more is left out."""
        self._waiting = [one for one in self._waiting if not one.written.done()]
        size = taken = 0
        for one in self._waiting[:MOST_TOGETHER]:
            size += one.size
            if taken and size > MOST_BYTES:
                break
            taken += 1
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return batch

    async def _write_batch(self, batch: list[_Waiting[Item, Result]]) -> None:
        pause = FIRST_PAUSE
        while batch := [one for one in batch if not one.written.done()]:
            try:
                results = await self._write([(one.lease, one.item) for one in batch])
            except (StoreUnavailable, StoreBusy):
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            except Exception as error:
                if len(batch) > 1:  # one of them alone may be to blame
                    for one in batch:
                        await self._write_batch([one])
                elif not batch[0].written.done():
                    batch[0].written.set_exception(error)
                return
            else:
                for one, result in zip(batch, results, strict=True):
                    if not one.written.done():
                        one.written.set_result(result)
                return


async def patiently(call: Callable[[], Awaitable[T]]) -> T:
    """Make a call that may be repeated, again and again while the store is away."""
    pause = FIRST_PAUSE
    while True:
        try:
            return await call()
        except (StoreUnavailable, StoreBusy):
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
