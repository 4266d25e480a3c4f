"""Waits for jobs to end: any number of waiters share one listener and one look at the store.

A hint says that a job has ended, but not which one; so every awaited job is read. The pause between looks
grows with the time that a look takes: however many wait, the store stays free for work. Hints may be lost, so
it also looks from time to time without one.
"""

import asyncio
from uuid import UUID

from tenure.core.errors import JobNotFound, StoreError, StoreUnavailable
from tenure.core.model.job import Job
from tenure.core.model.states import FINAL
from tenure.storage.contract.store import Store

SAFETY_POLL = 1.0
"""Seconds after which it looks without a hint."""

LONGEST_OUTAGE = 30.0
"""Seconds after which waiters give up on a store that does not answer."""

_AT_ONCE = 16


class OutagePatience:
    """Measures how long a store has not answered."""

    def __init__(self) -> None:
        self._failing_since: float | None = None

    def is_over(self) -> bool:
        """Whether it has failed for too long; to be called after every failure."""
        now = asyncio.get_running_loop().time()
        self._failing_since = self._failing_since or now
        return now - self._failing_since > LONGEST_OUTAGE

    def renew(self) -> None:
        """Start anew: the store has answered."""
        self._failing_since = None


class Completions:
    """Wakes waiters when their jobs have ended."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiters: dict[UUID, set[asyncio.Future[Job]]] = {}
        self._task: asyncio.Task[None] | None = None

    async def wait(self, job: UUID, timeout: float | None) -> Job:
        """The job, once it has ended. Raises TimeoutError, or JobNotFound if there is no such job."""
        waiter: asyncio.Future[Job] = asyncio.get_running_loop().create_future()
        # Before the look: the listener then sees a job that ends right after it.
        self._waiters.setdefault(job, set()).add(waiter)
        try:
            ended = await self._look_at(job)
            if ended is not None:
                return ended
            if self._task is None:
                self._task = asyncio.create_task(self._serve(), name="tenure-endings")
            async with asyncio.timeout(timeout):
                return await waiter
        except TimeoutError:
            raise TimeoutError(f"job {job} had not ended after {timeout:g} s") from None
        finally:
            self._waiters[job].discard(waiter)
            if not self._waiters[job]:
                del self._waiters[job]

    async def close(self) -> None:
        """End every wait with an error."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._fail_all(StoreUnavailable("the store was closed while a job was waited for"))

    async def _serve(self) -> None:
        """Look while there are waiters."""
        patience = OutagePatience()
        try:
            while self._waiters:
                try:
                    async with self._store.listen(endings=True) as wakeups:
                        while self._waiters:
                            await self._look_at_all()
                            patience.renew()
                            await wakeups.wait(SAFETY_POLL)
                except StoreError as error:
                    if patience.is_over():
                        self._fail_all(error)
                    await asyncio.sleep(SAFETY_POLL)
        except Exception as error:
            # A bug: waiters must not wait for ever.
            self._fail_all(error)
        finally:
            self._task = None

    async def _look_at_all(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        awaited = list(self._waiters)
        for start in range(0, len(awaited), _AT_ONCE):
            looks = [self._answer(job) for job in awaited[start : start + _AT_ONCE]]
            for error in await asyncio.gather(*looks, return_exceptions=True):
                if error is not None:
                    raise error
        await asyncio.sleep(loop.time() - began)

    async def _answer(self, job: UUID) -> None:
        try:
            ended = await self._look_at(job)
        except JobNotFound as error:
            for waiter in self._unanswered(job):
                waiter.set_exception(error)
            return
        if ended is not None:
            for waiter in self._unanswered(job):
                waiter.set_result(ended)

    async def _look_at(self, job: UUID) -> Job | None:
        found = await self._store.get(job)
        if found is None:
            raise JobNotFound(job)
        return found if found.state in FINAL else None

    def _unanswered(self, job: UUID) -> "list[asyncio.Future[Job]]":
        return [waiter for waiter in self._waiters.get(job, ()) if not waiter.done()]

    def _fail_all(self, error: Exception) -> None:
        for job in self._waiters:
            for waiter in self._unanswered(job):
                waiter.set_exception(error)
