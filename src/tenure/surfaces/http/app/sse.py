"""Server-sent events: how they are written, with heartbeats and a check of the caller's key."""

import asyncio
from collections.abc import AsyncGenerator

from tenure.surfaces.http.app.context import Request, StreamedResponse
from tenure.surfaces.http.app.problems import RETRY_AFTER

HEARTBEAT = 15.0
"""Seconds of silence before a heartbeat, so that both sides notice a broken connection."""

_RETRY = b"retry: %d\n\n" % (RETRY_AFTER * 1000)
_BEAT = b":\n\n"
_AT_ONCE = {"x-accel-buffering": "no"}
"""Asks a proxy not to buffer."""


def message(data: str | None = None, *, event: str | None = None, id: str | None = None) -> bytes:  # noqa: A002
    """One event. Without data a browser sees no event, and only `Last-Event-ID` moves."""
    lines = [] if id is None else [f"id: {id}"]
    if event is not None:
        lines.append(f"event: {event}")
    if data is not None:
        lines += [f"data: {line}" for line in data.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join([*lines, "", ""]).encode()


def sse(request: Request, pieces: AsyncGenerator[bytes, None]) -> StreamedResponse:
    """A stream of messages, any number of them in a piece.

    It ends with the pieces, or when the caller would no longer be admitted.
    """
    return StreamedResponse(request.caller, _kept_alive(request, pieces), headers=_AT_ONCE)


async def _kept_alive(request: Request, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    yield _RETRY
    coming = asyncio.ensure_future(_next(pieces))
    try:
        while True:
            await asyncio.wait([coming], timeout=HEARTBEAT)
            has_come = coming.done()
            piece = coming.result() if has_come else _BEAT
            if piece is None or not await request.is_admitted():
                return
            yield piece
            if has_come:
                coming = asyncio.ensure_future(_next(pieces))
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)
        await pieces.aclose()


async def _next(pieces: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(pieces, None)
