"""Follows one job for a person who watches: its changes and its log, as they come.

It polls: a look every half second is enough for a person, and costs the store almost nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from uuid import UUID

from tenure.core.errors import InvalidInput, JobNotFound, StoreError
from tenure.core.model.job import Job
from tenure.core.model.trail import LogLine
from tenure.engine.client.completions import OutagePatience
from tenure.storage.contract.store import Store

GLANCE = 0.5
"""Seconds between two looks."""

_LINES = 1000


class AttemptLine(NamedTuple):
    """A log line, with the number and the fence of the attempt that wrote it."""

    attempt: int
    fence: int
    line: LogLine


async def watch(store: Store, job: UUID, on_change: Callable[[Job], None]) -> Job:
    """Call `on_change` with the job now and after every change seen, until it has ended.

    Returns the job. Raises JobNotFound.
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
    on_line: Callable[[AttemptLine], None],
    *,
    attempt: int | None = None,
    follow: bool = False,
) -> None:
    """Call `on_line` for every log line of a job, or of one attempt; with `follow`, until the job has ended.

    Raises JobNotFound, or InvalidInput if there was no such attempt, unless it may still come.
    """
    numbers: dict[int, int] = {}
    after: tuple[int, int] | None = None

    async def look() -> bool:
        nonlocal after, numbers
        # The state is read before the lines: these then include all that was written before the end.
        is_over = (await _get(store, job)).state.is_final or not follow
        if is_over and attempt is not None:
            numbers = await _numbers(store, job)
            _refuse_unknown(attempt, numbers)
        while lines := await store.logs(job, after=after, limit=_LINES):
            if any(logged.fence not in numbers for logged in lines):
                numbers = await _numbers(store, job)
            for logged in lines:
                line = AttemptLine(numbers.get(logged.fence, 0), *logged)
                if attempt in {None, line.attempt}:
                    on_line(line)
                after = (logged.fence, logged.line.n)
        return is_over

    await _until(look)


async def _until(look: Callable[[], Awaitable[bool]]) -> None:
    """Look until a look returns True, through outages that end in time."""
    patience = OutagePatience()
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
    """What counts as a change: a heartbeat alone does not."""
    return job.state, job.events, job.progress


async def _numbers(store: Store, job: UUID) -> dict[int, int]:
    return {attempt.fence: attempt.number for attempt in await store.attempts(job)}


def _refuse_unknown(attempt: int, numbers: dict[int, int]) -> None:
    if attempt not in numbers.values():
        last = max(numbers.values(), default=0)
        raise InvalidInput("attempt", f"is {attempt}, but the job has had {last}", "give one that it has had")
