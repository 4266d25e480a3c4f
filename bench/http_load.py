"""A crowd of clients in one process: each sends its next request for a job when the one before is answered.

Bytes are written and counted, nothing is parsed that need not be: the crowd must cost less than the server.
"""

import asyncio
import re
import sys
import time
from secrets import token_hex
from typing import NamedTuple, cast

import msgspec
import uvloop

from bench.http_bare import DEFINITION

HEAD = (
    "POST {path} HTTP/1.1\r\nHost: {host}\r\n"
    "Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
)
PLAIN, NATIVE = "/jobs", "/v1/jobs"
BODIES = {
    PLAIN: '{{"jobType": "{kind}", "payload": {{"to": "{text}"}}, "idempotencyKey": "{key}"}}',
    NATIVE: '{{"definitionKey": "{kind}", "params": {{"to": "{text}"}}, "idempotencyKey": "{key}"}}',
}
"""What is sent, by the path it is sent to."""
TEXT = "x" * 189
"""So that the params have 200 bytes, as in the other benches."""

_LENGTH = re.compile(rb"content-length: (\d+)")


class Load(NamedTuple):
    """What a crowd has seen: calls, the seconds and CPU seconds they took, and milliseconds a call."""

    calls: int
    seconds: float
    cpu: float
    median: float
    p99: float


class Crowd:
    """Calls that are still to be made, and how long those took that were."""

    def __init__(self, host: str, path: str, calls: int) -> None:
        key = token_hex(8) + "-{number:08d}"
        body = BODIES[path].format(kind=DEFINITION, text=TEXT, key=key.format(number=0))
        whole = HEAD.format(path=path, host=host, length=len(body)) + body
        self._before = whole.rpartition("00000000")[0].encode("ascii")
        self._left = calls
        self.took: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._unanswered = calls

    def next(self) -> bytes | None:
        """The next request, whose key is new; None when all are made."""
        if not self._left:
            return None
        self._left -= 1
        return b'%b%08d"}' % (self._before, self._left)

    def answered(self, seconds: float) -> None:
        """A request is done."""
        self.took.append(seconds)
        self._unanswered -= 1
        if not self._unanswered:
            self.done.set_result(None)

    def failed(self, why: str) -> None:
        """A request is not done: then the measurement is none."""
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))


class Caller(asyncio.Protocol):
    """One connection of the crowd."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self._got = b""
        self._size = 0
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # which uvloop's own are, not by name

    def call(self) -> None:
        """Send the next request, if there is one."""
        request = self._crowd.next()
        if request is not None and self._transport is not None:
            self._sent_at = time.perf_counter()
            self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._got += data
        if not self._size:
            head, blank, _ = self._got.partition(b"\r\n\r\n")
            length = _LENGTH.search(head)
            if not blank or length is None:
                return
            # Every answer is as long as the first: an id and the same word.
            self._size = len(head) + 4 + int(length[1])
        if not self._got.startswith(b"HTTP/1.1 202"):
            self._crowd.failed(f"it was answered: {self._got[:500]!r}")
        elif len(self._got) >= self._size:
            self._got = b""
            self._crowd.answered(time.perf_counter() - self._sent_at)
            self.call()

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.failed(f"the server hung up: {exc}")


async def load(host: str, port: int, calls: int, connections: int, path: str = PLAIN) -> Load:
    """Make so many calls over so many connections; nothing is timed before all are open."""
    crowd = Crowd(f"{host}:{port}", path, calls)
    loop = asyncio.get_running_loop()
    callers = [
        (await loop.create_connection(lambda: Caller(crowd), host, port))[1] for _ in range(connections)
    ]
    began, cpu = time.perf_counter(), time.process_time()
    for caller in callers:
        caller.call()
    await crowd.done
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    took = sorted(crowd.took)
    return Load(calls, seconds, cpu, 1e3 * took[calls // 2], 1e3 * took[int(calls * 0.99)])


if __name__ == "__main__":
    uvloop.install()
    given_host, given_path, *numbers = sys.argv[1:]
    port, calls, connections = map(int, numbers)
    seen = asyncio.run(load(given_host, port, calls, connections, given_path))
    print(msgspec.json.encode(seen).decode())
