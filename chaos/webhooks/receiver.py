"""A receiver of webhooks that writes down what comes, and then does what the first part of the path says.

python -m chaos.webhooks.receiver PORT FILE CALM

Until the file CALM is there it does so by chance, and else answers 200; from then on it always does.
It knows nothing of Tenure, so that it starts at once.
"""

import asyncio
import json
import os
import random
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

OFTEN = 0.4
"""How often it misbehaves."""

Write = asyncio.StreamWriter
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def status(line: str, *headers: str) -> Callable[[Write], Awaitable[None]]:
    """Answer with a status."""

    async def answer(writer: Write) -> None:
        writer.write("\r\n".join([f"HTTP/1.1 {line}", *headers, "Content-Length: 0", "", ""]).encode())
        await writer.drain()

    return answer


async def hang(_: Write) -> None:
    """Never answer."""
    await asyncio.sleep(60)


async def reset(writer: Write) -> None:
    """Break the connection."""
    writer.transport.abort()


async def drip(writer: Write) -> None:
    """Answer at once, and never come to an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"1\r\n.\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)


async def flood(writer: Write) -> None:
    """Answer with as much as is read."""
    writer.write(b"HTTP/1.1 500 Flood\r\nContent-Length: 10000000000\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


BEHAVIOURS: dict[str, Callable[[Write], Awaitable[None]] | None] = {
    "ok": None,
    "error": status("500 No"),
    "gone": status("410 Gone"),
    "busy": status("429 Slowly", "Retry-After: 1"),
    "redirect": status("302 Elsewhere", "Location: /elsewhere"),
    "hang": hang,
    "reset": reset,
    "drip": drip,
    "flood": flood,
}
"""What stands at the paths; None is always well."""


class Receiver:
    """Serves connections, and appends each request to a file before it answers."""

    def __init__(self, file: Path, calm: Path) -> None:
        self._record = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._calm = calm
        os.write(self._record, b"\n")  # ends what one that was killed has begun

    async def serve(self, reader: asyncio.StreamReader, writer: Write) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                first, *lines = head.strip().split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers["content-length"]))
                await self._answer(first.split(" ")[1], headers, body.decode(), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, headers: dict[str, str], body: str, writer: Write) -> None:
        _, behaviour, *rest = [*path.split("/"), ""]
        harm = BEHAVIOURS.get(behaviour)
        if harm is not None and (self._calm.exists() or random.random() > OFTEN):
            harm = None
        hook = rest[0] if behaviour in BEHAVIOURS and rest else None
        line = {"hook": hook, "headers": headers, "body": body, "answered": None if harm else 200}
        os.write(self._record, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        if harm is None:
            writer.write(OK)
            await writer.drain()
        else:
            await harm(writer)


async def main(port: int, file: Path, calm: Path) -> None:
    """Serve until killed."""
    server = await asyncio.start_server(Receiver(file, calm).serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])))
