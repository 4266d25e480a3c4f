"""The last word on a connection, and letting go of it.

Whoever refuses a request half-way must not close at once: what the client still sends would be met by a
reset, which may overtake the answer. So the server closes its own half, reads on for a moment into nothing,
and only then lets go.
"""

import asyncio
from http import HTTPStatus
from typing import Any, Protocol
from uuid import uuid4

from tenure.surfaces.http.problems import MEDIA_TYPE, Refusal


class Draining(Protocol):
    """A connection that can be told to take in no more."""

    loop: asyncio.AbstractEventLoop

    def drain(self) -> bool:
        """Whether there is something of a request still to come, which is read into nothing from now on."""


class Letting:
    """A transport that is let go in that way, however uvicorn closes it.

    What is written waits for more until the loop comes round: uvicorn writes head and body of an answer one
    after the other, and each call of the system costs as much as the handling of a small request.
    """

    def __init__(self, transport: asyncio.Transport, connection: Draining, seconds: float) -> None:
        """`seconds` is how long a client may take to read the last word and to stop sending."""
        self._transport = transport
        self._connection = connection
        self._seconds = seconds
        self._is_closing = False
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, together with what was held back, or hold back."""
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
        # The client may have left meanwhile, and uvloop raises where asyncio says nothing.
        if not self._transport.is_closing():
            self._transport.write(data)

    def is_closing(self) -> bool:
        """Whether nothing more will be said."""
        return self._is_closing or self._transport.is_closing()

    def close(self) -> None:
        """Close when all is written; who does not read, or does not stop to send, is not waited for."""
        if self.is_closing():
            return
        self._is_closing = True
        self._flush()
        connection = self._connection
        connection.loop.call_later(self._seconds, self._transport.abort)
        is_unfinished = connection.drain()
        if self._transport.is_closing():
            return  # it was found to be gone when the rest was written
        if is_unfinished and self._transport.can_write_eof():
            self._transport.write_eof()
            self._transport.resume_reading()
        else:
            self._transport.close()


def written(refusal: Refusal) -> bytes:
    """A refusal as a whole answer, the last on its connection."""
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
