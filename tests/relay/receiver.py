"""A receiver of webhooks that behaves as a test says, and remembers what it was sent."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from standardwebhooks import Webhook

from tests.surfaces.remote.restartable_server import listening
from tests.until import until


class Request(NamedTuple):
    """A request as it came."""

    headers: dict[str, str]
    body: bytes
    target: str

    @property
    def message(self) -> str:
        """The id of its message."""
        return self.headers["webhook-id"]

    def fits(self, secret: str) -> bool:
        """Whether it is signed with a secret, as the reference sees it; raises if it is not."""
        return bool(Webhook(secret).verify(self.body, self.headers))


Behaviour = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def answer(status: int, *headers: str, body: bytes = b"") -> Behaviour:
    """Answer with a status."""

    async def behave(_: Request, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status} Said", *headers, f"Content-Length: {len(body)}", "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()

    return behave


async def hang(_: Request, __: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def reset(_: Request, writer: asyncio.StreamWriter) -> None:
    """End the connection without an answer."""
    writer.transport.abort()


async def drip(_: Request, writer: asyncio.StreamWriter) -> None:
    """Answer 200 at once, and its body a byte at a time, without an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\n.\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def flood(_: Request, writer: asyncio.StreamWriter) -> None:
    """Answer 200, and a body without an end, as fast as it is read."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def babble(_: Request, writer: asyncio.StreamWriter) -> None:
    """Answer with what is no HTTP."""
    writer.write(b"SECRET-OF-THE-RECEIVER\r\n\r\n")
    await writer.drain()
    writer.transport.abort()


OK = answer(200)


class Receiver:
    """What stands behind an address. `behave` says what it does, and `paths` at some of its paths."""

    def __init__(self) -> None:
        self.url = ""
        self.behave: Behaviour = OK
        self.paths: dict[str, Behaviour] = {}
        self.requests: list[Request] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        self.connections += 1
        try:
            while request := await _request(reader):
                self.requests.append(request)
                await self.paths.get(request.target, self.behave)(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass

    def messages(self, target: str | None = None) -> Counter[str]:
        """How often each message came, at one path or at all."""
        return Counter(one.message for one in self.requests if target in {None, one.target})

    async def has(self, count: int, target: str | None = None) -> list[Request]:
        """Wait until so many different messages have come."""
        await until(lambda: len(self.messages(target)) >= count)
        return self.requests


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver on a free port of this machine."""
    receiver = Receiver()
    async with listening(receiver.serve) as port:
        receiver.url = f"http://127.0.0.1:{port}"
        yield receiver


async def _request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return Request(headers, await reader.readexactly(int(headers["content-length"])), first.split(" ")[1])
