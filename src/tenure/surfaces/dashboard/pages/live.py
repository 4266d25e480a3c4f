"""Streams hints that something has happened. A page that gets one reloads its content; none is missed."""

import asyncio
from collections.abc import AsyncGenerator

from tenure.core.reports.reading import Interest
from tenure.surfaces.http.app.context import AppContext, Request, StreamedResponse
from tenure.surfaces.http.app.sse import message, sse

_QUIET = 60.0
TOGETHER = 0.25
"""Seconds; everything that happens in this time is one hint."""

_HINT = message("{}", event="hint")


async def live(context: AppContext, request: Request) -> StreamedResponse:
    """Hints about all jobs that the caller may see."""
    return sse(request, _hints(context, Interest(namespace=request.caller.namespace)))


async def of_job(context: AppContext, request: Request) -> StreamedResponse:
    """Hints about one job."""
    return sse(request, _hints(context, Interest(job=request.job)))


async def _hints(context: AppContext, interest: Interest) -> AsyncGenerator[bytes]:
    with await context.client.feed.subscribe(interest) as reader:
        yield _HINT  # for what happened since the page was made
        while True:
            if await reader.read(timeout=_QUIET):
                yield _HINT
                await asyncio.sleep(TOGETHER)
