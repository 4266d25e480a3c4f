"""A receiver of webhooks on this machine that answers 204 at once and counts."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_END = b"\r\n\r\n"
_LENGTH = b"content-length: "


class CountingReceiver:
    """How many requests have come."""

    def __init__(self) -> None:
        self.count = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = (await reader.readuntil(_END)).lower()
                length = head.partition(_LENGTH)[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
                self.count += 1
                writer.write(_ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@contextmanager
def receiving() -> Iterator[CountingReceiver]:
    """A receiver in a thread of its own."""
    receiver, loop = CountingReceiver(), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(receiver.serve, "127.0.0.1", 0))
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
