"""Calls that arrive while a statement is in flight ride together on the next one.

Nobody waits for a window: the first call goes at once, alone; whatever comes meanwhile forms the next batch.
One caller loses nothing, a hundred concurrent ones share a commit.

A batch is only an economy, so nobody may suffer for a neighbour. When a batch fails because of what is in it
(a data error, a key that somebody holds), nothing of it was written; each call is then made alone, a few at
a time and beside the lanes, so that only the guilty one fails and nobody waits for it. An outage fails every
call of the batch, each with an error of its own, since an exception object that several tasks raise would
gather all their tracebacks.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from tenure.core.errors import StoreUnavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_SIDE_LANES = 4


class Coalescer(Generic[Item, Answer]):
    """Joins concurrent calls of one batch function. A call's items always stay together."""

    def __init__(
        self, run: Callable[[Sequence[Item]], Awaitable[list[Answer]]], *, most: int, lanes: int = 1
    ) -> None:
        self._run = run
        self._most = most
        self._idle_lanes = lanes
        self._side_lanes = asyncio.Semaphore(_SIDE_LANES)
        self._waiting: list[tuple[Sequence[Item], asyncio.Future[list[Answer]]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, items: Sequence[Item]) -> list[Answer]:
        """Have the items done together with whatever else is waiting; all or none of them."""
        answer: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, answer))
        if self._idle_lanes:
            self._idle_lanes -= 1
            self._start(self._drain())
        return await answer

    async def close(self) -> None:
        """Wait until everything handed in has been answered."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        try:
            while batch := self._next_batch():
                await self._do(batch)
        finally:
            self._idle_lanes += 1

    def _next_batch(self) -> list[tuple[Sequence[Item], asyncio.Future[list[Answer]]]]:
        size = taken = 0
        for items, _ in self._waiting:
            size += len(items)
            if taken and size > self._most:
                break
            taken += 1
        batch, self._waiting = self._waiting[:taken], self._waiting[taken:]
        return batch

    async def _do(self, batch: list[tuple[Sequence[Item], asyncio.Future[list[Answer]]]]) -> None:
        try:
            answers = await self._run([item for items, _ in batch for item in items])
        except StoreUnavailable as outage:
            for _, answer in batch:
                _fail(answer, copy.copy(outage))
        except Exception as error:
            if len(batch) == 1:
                _fail(batch[0][1], error)
                return
            for call in batch:
                self._start(self._alone(call))
        else:
            start = 0
            for items, answer in batch:
                if not answer.done():
                    answer.set_result(answers[start : start + len(items)])
                start += len(items)

    async def _alone(self, call: tuple[Sequence[Item], asyncio.Future[list[Answer]]]) -> None:
        async with self._side_lanes:
            await self._do([call])


def _fail(answer: "asyncio.Future[list[Answer]]", error: BaseException) -> None:
    if not answer.done():
        answer.set_exception(error)
