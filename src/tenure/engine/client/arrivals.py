"""Waits for jobs to arrive in line: any number of waiters share one listener.

A hint says that a job may stand in line, but not where; so every waiter is woken and looks. Hints may be
lost, and a job that a limit or a pause held back gets none. So waiters are also woken from time to time.
"""

import asyncio

from tenure.core.errors import StoreError, StoreUnavailable
from tenure.engine.client.completions import SAFETY_POLL, OutagePatience
from tenure.storage.contract.store import Store

_PATIENT = 2
"""Wake-ups without a waiter after which listening ends: a waiter that found nothing comes back at once."""


class Arrivals:
    """Wakes waiters when jobs may have arrived."""

    def __init__(self, store: Store) -> None:
        self.news = 0
        """Grows whenever jobs may have arrived, while there are waiters."""
        self._store = store
        self._waiters: set[asyncio.Future[None]] = set()
        self._task: asyncio.Task[None] | None = None

    async def after(self, known: int, timeout: float) -> None:
        """Return when there is later news than `known`, or after so many seconds.

        A caller that looked before the listener was up is woken as soon as it is.
        """
        if self.news > known:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        if self._task is None:
            self._task = asyncio.create_task(self._serve(), name="tenure-arrivals")
        try:
            async with asyncio.timeout(timeout):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._waiters.discard(waiter)

    async def close(self) -> None:
        """End every wait with an error."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._end_all(StoreUnavailable("the store was closed while jobs were waited for"))

    async def _serve(self) -> None:
        """Listen while there are waiters."""
        patience = OutagePatience()
        try:
            while self._waiters:
                try:
                    async with self._store.listen() as wakeups:
                        self._wake()
                        patience.renew()
                        idle = 0
                        while idle < _PATIENT:
                            await wakeups.wait(SAFETY_POLL)
                            idle = 0 if self._waiters else idle + 1
                            self._wake()
                except StoreError as error:
                    if patience.is_over():
                        self._end_all(error)
                    await asyncio.sleep(SAFETY_POLL)
        except Exception as error:
            # A bug: waiters must not wait for ever.
            self._end_all(error)
        finally:
            self._task = None

    def _wake(self) -> None:
        self.news += 1
        self._end_all(None)

    def _end_all(self, error: Exception | None) -> None:
        for waiter in self._waiters:
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)
