"""Hints that something has happened. A page that hears one fetches what it shows anew; none is missed."""

import asyncio
from collections.abc import AsyncGenerator

from tenure.core.reading import Interest
from tenure.surfaces.http.desk import Asked, Desk, Stream
from tenure.surfaces.http.sse import message, sse

_QUIET = 60.0
TOGETHER = 0.25
"""Seconds in which all that happens is one hint."""

_HINT = message("{}", event="hint")


async def live(desk: Desk, asked: Asked) -> Stream:
    """Hints of whatever happens to any job that the caller may see."""
    return sse(asked, _hints(desk, Interest(namespace=asked.caller.namespace)))


async def of_job(desk: Desk, asked: Asked) -> Stream:
    """Hints of what happens to one job."""
    return sse(asked, _hints(desk, Interest(job=asked.job)))


async def _hints(desk: Desk, interest: Interest) -> AsyncGenerator[bytes]:
    with await desk.client.feed.subscribe(interest) as reader:
        yield _HINT  # what happened between the page and now
        while True:
            if await reader.read(timeout=_QUIET):
                yield _HINT
                await asyncio.sleep(TOGETHER)
