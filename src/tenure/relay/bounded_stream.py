"""A connection on which only so much of an answer is read, whatever it consists of.

What counts is all that comes in answer to one request: a receiver may send interim answers and headers for as
long as it likes, which the client reads past before it says anything of them.
"""

import ssl
from typing import Any

import httpcore

MOST_RECEIVED = 256 * 1024
"""How many bytes of an answer are read, with its headers and all that frames it."""


class AnswerTooLong(httpcore.ReadError):
    """More has come than is read of an answer; nothing of it is said."""


class BoundedStream(httpcore.AsyncNetworkStream):
    """Reads so much after each request, and then no more."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._received = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come. Raises AnswerTooLong."""
        if self._received >= MOST_RECEIVED:
            raise AnswerTooLong
        part = await self._stream.read(max_bytes, timeout)
        self._received += len(part)
        return part

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send a part of a request: what comes from then on is the answer to it."""
        self._received = 0
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """The same behind TLS: what counts is what it carries."""
        return BoundedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What the connection says of itself."""
        return self._stream.get_extra_info(info)
