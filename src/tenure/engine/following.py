"""Following one job for people who look on: its changes, and what its attempts write, as they come.

It polls. A glance every half a second is all that an eye needs, and costs the store next to nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import UUID

from tenure.core.errors import InvalidInput, JobNotFound, StoreError
from tenure.core.job import Job
from tenure.core.trail import LogLine
from tenure.engine.waiting import Patience
from tenure.storage.contract import Store

GLANCE = 0.5
"""Seconds between two looks."""

_LINES = 1000


class Said(NamedTuple):
    """A log line, with the number and the fence of the attempt that wrote it."""

    attempt: int
    fence: int
    line: LogLine


async def watch(store: Store, job: UUID, on_change: Callable[[Job], None]) -> Job:
    """Tell of the job as it stands and of every change that is seen, until it has ended.

    Answers with the job. Raises JobNotFound.
    """
    last: Job | None = None

    async def look() -> bool:
        nonlocal last
        found = await _get(store, job)
        if last is None or _visible(found) != _visible(last):
            on_change(found)
        last = found
        return found.state.is_final

    await _until(look)
    assert last is not None  # noqa: S101
    return last


async def read_log(
    store: Store,
    job: UUID,
    on_line: Callable[[Said], None],
    *,
    attempt: int | None = None,
    follow: bool = False,
) -> None:
    """Tell of every log line of a job, or of one of its attempts; with `follow`, until the job has ended.

    Raises JobNotFound, and InvalidInput for an attempt that there was not, unless it may still come.
    """
    numbers: dict[int, int] = {}
    after: tuple[int, int] | None = None

    async def look() -> bool:
        nonlocal after, numbers
        # The state is read before the lines: what was written before the end is then among them.
        is_over = (await _get(store, job)).state.is_final or not follow
        if is_over and attempt is not None:
            numbers = await _numbers(store, job)
            _refuse_unknown(attempt, numbers)
        while lines := await store.logs(job, after=after, limit=_LINES):
            if any(logged.fence not in numbers for logged in lines):
                numbers = await _numbers(store, job)
            for logged in lines:
                said = Said(numbers.get(logged.fence, 0), *logged)
                if attempt in {None, said.attempt}:
                    on_line(said)
                after = (logged.fence, logged.line.n)
        return is_over

    await _until(look)


async def _until(look: Callable[[], Awaitable[bool]]) -> None:
    """Look until a look says that it was the last, through outages that end in time."""
    patience = Patience()
    while True:
        try:
            if await look():
                return
            patience.renew()
        except StoreError:
            if patience.is_over():
                raise
        await asyncio.sleep(GLANCE)


async def _get(store: Store, job: UUID) -> Job:
    found = await store.get(job)
    if found is None:
        raise JobNotFound(job)
    return found


def _visible(job: Job) -> tuple[object, ...]:
    """What makes a change: a heartbeat alone is none."""
    return job.state, job.events, job.progress


async def _numbers(store: Store, job: UUID) -> dict[int, int]:
    return {attempt.fence: attempt.number for attempt in await store.attempts(job)}


def _refuse_unknown(attempt: int, numbers: dict[int, int]) -> None:
    if attempt not in numbers.values():
        had = max(numbers.values(), default=0)
        raise InvalidInput("attempt", f"is {attempt}, but the job has had {had}", "give one that it has had")
