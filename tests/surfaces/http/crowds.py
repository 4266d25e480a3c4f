"""Crowds: more connections than a server has places, from any local address."""

import asyncio
import resource
import socket
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from tests.surfaces.http.http_server import Api, Reply, Wire, request

ELSEWHERE = "127.0.0.2"
"""Another address of this machine, which is another peer."""


@contextmanager
def many_files() -> Iterator[int]:
    """How many sockets may be held, as many as the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield hard - 2000
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Crowd:
    """Sockets that all sent the same bytes, and nothing after them."""

    def __init__(self, address: tuple[str, int], sent_bytes: bytes, most: int) -> None:
        """Of more than `most` the oldest are closed: by then the server has long done so."""
        self._address = address
        self._sent_bytes = sent_bytes
        self._most = most
        self._sockets: deque[socket.socket] = deque()
        self._growing: list[asyncio.Task[None]] = []
        self._is_over = False

    def grow(self, number: int) -> asyncio.Task[None]:
        """So many more, in a thread."""
        self._growing.append(asyncio.create_task(asyncio.to_thread(self._gather, number)))
        return self._growing[-1]

    async def end(self) -> None:
        self._is_over = True
        await asyncio.gather(*self._growing)
        for one in self._sockets:
            one.close()

    def _gather(self, number: int) -> None:
        for _ in range(number):
            if self._is_over:
                return
            one = socket.create_connection(self._address)
            self._sockets.append(one)
            try:
                one.sendall(self._sent_bytes)
            except ConnectionError:
                pass  # the server closed it to make room
            if len(self._sockets) > self._most:
                self._sockets.popleft().close()


@asynccontextmanager
async def crowd(api: Api, sent_bytes: bytes) -> AsyncIterator[Crowd]:
    """A crowd that is gone when the block ends."""
    async with AsyncExitStack() as ends:
        gathered = Crowd(api.address, sent_bytes, ends.enter_context(many_files()))
        ends.push_async_callback(gathered.end)
        yield gathered


async def ask(api: Api, data: bytes, source: str = "127.0.0.1") -> Reply:
    """Send a request on a new connection from the given address."""
    wire = Wire(*await asyncio.open_connection(*api.address, local_addr=(source, 0)))
    try:
        await wire.send(data)
        return await wire.reply()
    finally:
        await wire.close()


def probe(path: str = "/healthz", **headers: str) -> bytes:
    return request("GET", path, headers)
