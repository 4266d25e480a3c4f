"""Lingering close: answer, half-close, drain, close.

A server that refuses a request half-way must not close at once: bytes that still arrive would cause a reset,
which may overtake the answer. So it closes its own half, discards what arrives for a moment, and then closes.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Protocol
from uuid import uuid4

from tenure.surfaces.http.app.problems import MEDIA_TYPE, Refusal


class DrainableConnection(Protocol):
    """A connection that can stop taking in requests."""

    loop: asyncio.AbstractEventLoop

    def drain(self) -> bool:
        """Discard what arrives from now on; returns whether a request is still arriving."""


class LingeringClose:
    """A transport that closes in that way, however uvicorn closes it.

    A write is held back until the next turn of the loop: uvicorn writes head and body of an answer one after
    the other, and each system call costs as much as handling a small request.
    """

    def __init__(self, transport: asyncio.Transport, connection: DrainableConnection, seconds: float) -> None:
        """`seconds` is how long a client may take to read the last answer and to stop sending."""
        self._transport = transport
        self._connection = connection
        self._seconds = seconds
        self._is_closing = False
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write together with what was held back, or hold this back."""
        if self._held:
            held, self._held = self._held, b""
            self._pass_on(held + data)
        else:
            self._held = data
            self._connection.loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._held:
            data, self._held = self._held, b""
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        # The client may have left meanwhile: uvloop raises then, asyncio does not.
        if not self._transport.is_closing():
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more will be written."""
        return self._is_closing or self._transport.is_closing()

    def close(self) -> None:
        """Close when all is written, or when a client that does not read or stop sending has had its time."""
        if self.is_closing():
            return
        self._is_closing = True
        self._flush()
        connection = self._connection
        connection.loop.call_later(self._seconds, self._transport.abort)
        is_unfinished = connection.drain()
        if self._transport.is_closing():
            return  # the flush found the client gone
        if is_unfinished and self._transport.can_write_eof():
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._transport.close()


def raw_answer(refusal: Refusal) -> bytes:
    """A refusal as the bytes of a whole answer, the last on its connection."""
    request = uuid4()
    body = refusal.body(request)
    headers = {
        "content-type": MEDIA_TYPE.decode(),
        "content-length": str(len(body)),
        "cache-control": "no-store",
        "x-request-id": str(request),
        **refusal.headers,
        "connection": "close",
    }
    lines = [f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
