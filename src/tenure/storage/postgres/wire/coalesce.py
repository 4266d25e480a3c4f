"""Calls that arrive while a statement is in flight share the next one.

There is no waiting window: the first call is sent at once, alone; the calls that come meanwhile form the next
batch. A single caller loses nothing, and a hundred concurrent ones share a commit. As long as callers come
one at a time, each makes its call itself; once they share, each lane is a task, which picks up all calls of
the same turn of the loop.

A batch only saves work, so no call may fail because of another. If a batch fails for its content (a data
error, a key that another transaction holds), nothing of it was written. Each call is then made alone, a few
at a time and beside the lanes, so that only the faulty one fails and no other waits for it. An outage fails
every call of the batch, each with its own copy of the error: an exception object that several tasks raise
would collect all their tracebacks.

No call waits for its turn longer than `patience` and the statement in front. After that it fails with
StoreBusy, and nothing of it was sent.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenure.core.errors import StoreBusy, StoreUnavailable

Item = TypeVar("Item")
Answer = TypeVar("Answer")

_SIDE_LANES = 4


@dataclass(frozen=True, eq=False)
class _Call(Generic[Item, Answer]):
    items: Sequence[Item]
    answer: asyncio.Future[list[Answer]]
    begin_by: float


class Coalescer(Generic[Item, Answer]):
    """Joins concurrent calls of one batch function. A call's items always stay together."""

    def __init__(
        self,
        run: Callable[[Sequence[Item]], Awaitable[list[Answer]]],
        *,
        most: int,
        patience: float,
        lanes: int = 1,
    ) -> None:
        self._run = run
        self._most = most
        self._patience = patience
        self._idle_lanes = lanes
        self._side_lanes = asyncio.Semaphore(_SIDE_LANES)
        self._waiting: list[_Call[Item, Answer]] = []
        self._is_shared = False
        self._under_way: set[asyncio.Future[None]] = set()
        self._is_alone = False
        self._alone_until: asyncio.Future[None] | None = None

    async def call(self, items: Sequence[Item]) -> list[Answer]:
        """Run the items together with others that wait; all or none of them."""
        if not items:
            return []
        if not self._is_alone and not self._under_way and not self._is_shared:
            self._is_alone = True
            self._idle_lanes -= 1
            try:
                return await self._run(items)
            finally:
                self._is_alone = False
                if self._alone_until is not None:
                    self._alone_until.set_result(None)
                    self._alone_until = None
                if self._waiting:
                    self._start(self._drain())
                else:
                    self._idle_lanes += 1
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Answer]] = loop.create_future()
        self._waiting.append(_Call(items, answer, loop.time() + self._patience))
        if self._idle_lanes:
            self._idle_lanes -= 1
            self._start(self._drain())
        return await answer

    async def close(self) -> None:
        """Wait until every call has been answered."""
        while self._is_alone or self._under_way:
            if self._is_alone and self._alone_until is None:
                self._alone_until = asyncio.get_running_loop().create_future()
            await asyncio.wait(self._under_way | ({self._alone_until} if self._alone_until else set()))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _drain(self) -> None:
        try:
            while batch := self._next_batch():
                self._is_shared = len(batch) > 1 or self._is_alone or len(self._under_way) > 1
                await self._run_batch(batch)
        finally:
            self._idle_lanes += 1

    def _next_batch(self) -> list[_Call[Item, Answer]]:
        now = asyncio.get_running_loop().time()
        size = 0
        batch: list[_Call[Item, Answer]] = []
        for taken, call in enumerate(self._waiting):
            if call.begin_by < now:
                _refuse(call)
                continue
            size += len(call.items)
            if batch and size > self._most:
                self._waiting = self._waiting[taken:]
                return batch
            batch.append(call)
        self._waiting = []
        return batch

    async def _run_batch(self, batch: list[_Call[Item, Answer]]) -> None:
        try:
            answers = await self._run([item for call in batch for item in call.items])
        except StoreUnavailable as outage:
            for call in batch:
                _fail(call, copy.copy(outage))
        except Exception as error:
            if len(batch) == 1:
                _fail(batch[0], error)
                return
            begin_by = asyncio.get_running_loop().time() + self._patience
            for call in batch:
                self._start(self._run_alone(_Call(call.items, call.answer, begin_by)))
        else:
            start = 0
            for call in batch:
                if not call.answer.done():
                    call.answer.set_result(answers[start : start + len(call.items)])
                start += len(call.items)

    async def _run_alone(self, call: _Call[Item, Answer]) -> None:
        async with self._side_lanes:
            if call.begin_by < asyncio.get_running_loop().time():
                _refuse(call)
            else:
                await self._run_batch([call])


def _refuse(call: _Call[Item, Answer]) -> None:
    _fail(call, StoreBusy("other calls took too long; nothing was written, try again"))


def _fail(call: _Call[Item, Answer], error: BaseException) -> None:
    if not call.answer.done():
        call.answer.set_exception(error)
