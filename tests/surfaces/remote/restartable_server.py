"""A server that can be killed and restarted on its port, a proxy that cuts connections, scripted servers."""

import asyncio
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from chaos import failpoints
from tenure import AsyncClient, Client
from tests import canaries
from tests.debian import program
from tests.ports import free_port
from tests.until import until
from tests.whole import dealt

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0
"""Seconds after which a test gives up waiting, also for a server to start."""

KINDS = ("Client", "AsyncClient")
ONE_STORE_EACH = pytest.mark.parametrize(
    ("kind", "database_kind"),
    [(kind, store) for turn, kind in enumerate(KINDS) for store in dealt(turn)],
    indirect=True,
)
"""For tests that start servers: each kind of client gets one store, unless the run is a whole one."""


class RestartableServer:
    """One `tenure api` after the other, on one database and one port."""

    def __init__(self, database: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.fired = folder / "fired"
        self._log = folder / "api.log"
        self._database = database
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was started."""
        return self._process is not None

    async def open(self, armed: str = "") -> None:
        """Start a server and wait until it listens; `armed` names its failpoints."""
        self.fired.mkdir(exist_ok=True)
        armour = {failpoints.VARIABLE: armed, failpoints.FIRED: str(self.fired)}
        with self._log.open("ab") as log:
            where = ("--port", str(self.port), "--database", self._database)
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "chaos.api", *where),
                cwd=ROOT,
                env={**os.environ, **armour},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        process = self._process

        async def is_up() -> bool:
            assert process.returncode is None, self._log.read_text()
            return await self._is_up()

        await until(is_up)

    async def kill(self) -> None:
        """Kill it with SIGKILL."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            self._process.kill()
        await self.ended()

    async def ended(self) -> int:
        """Wait for its end; returns the exit code."""
        assert self._process is not None
        async with asyncio.timeout(PATIENCE):
            code = await self._process.wait()
        canaries.look("the log of a server", self._log.read_bytes())
        return code

    async def _is_up(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True


class Proxy:
    """A proxy between client and server that cuts the connections in `cuts`, each at one point.

    `before` the request reaches the server, `after` the server has answered but before the client gets any of
    it, in the middle of the `head` of the answer, or of its `body`.
    """

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self.cuts: list[str] = []
        """Where the next connections are cut."""
        self.made = 0
        """Connections that were cut."""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        point = self.cuts.pop(0) if self.cuts else None
        with suppress(OSError):
            if point is None:
                await self._carry(reader, writer)
            else:
                await self._cut(point, reader, writer)
        writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._upstream)
        ways = [
            asyncio.create_task(_pump(reader, to_server)),
            asyncio.create_task(_pump(from_server, writer)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.wait(ways)
            to_server.transport.abort()

    async def _cut(self, point: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        if point == "before":
            return
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._upstream)
        sending = asyncio.create_task(_pump(reader, to_server))
        try:
            answer = await from_server.readuntil(b"\r\n\r\n")
            if point == "body":
                writer.write(answer + await from_server.readexactly(10))
            elif point == "head":
                writer.write(answer[:20])
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            to_server.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()


@asynccontextmanager
async def between(upstream: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Proxy]:
    """A proxy in front of a port, until the block ends."""
    proxy = Proxy(upstream)
    async with listening(proxy.serve, tls) as port:
        proxy.url = _url(port, tls)
        yield proxy


class Script:
    """A server with prepared answers, one for each connection; it keeps the requests."""

    def __init__(self, answers: Sequence[bytes | None]) -> None:
        self._answers = list(answers)
        self.requests: list[bytes] = []
        self.gone = asyncio.Event()
        """Set when a client has closed a connection without an answer."""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: None is never answered, and the last answer is repeated for all later ones."""
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
            answer = self._answers[min(len(self.requests), len(self._answers) - 1)]
            self.requests.append(head + body)
            if answer is None:
                await reader.read()
                self.gone.set()
            elif answer.endswith(ENDLESS):
                while True:
                    writer.write(answer)
                    await writer.drain()
            elif answer.endswith(SLOWLY):
                while True:
                    writer.write(answer)
                    await writer.drain()
                    await asyncio.sleep(0.05)
            else:
                writer.write(answer)
                await writer.drain()
        writer.close()


ENDLESS = b"\r\n\r\n...and so on"
"""The end of an answer that is repeated without end."""


SLOWLY = b"...and in good time"
"""The same, but slowly."""


def answer(status: int, body: bytes, **headers: str) -> bytes:
    """The bytes of an answer, after which the connection is closed."""
    given = {"content_type": "application/json", "content_length": str(len(body)), "connection": "close"}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in {**given, **headers}.items()]
    return "\r\n".join([f"HTTP/1.1 {status} Said", *lines, "", ""]).encode() + body


@asynccontextmanager
async def scripted(*answers: bytes | None, tls: ssl.SSLContext | None = None) -> AsyncIterator[Script]:
    """A server with these answers, until the block ends."""
    script = Script(answers)
    async with listening(script.serve, tls) as port:
        script.url = _url(port, tls)
        yield script


def _url(port: int, tls: ssl.SSLContext | None) -> str:
    return f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"


class Certificate:
    """A certificate that is its own authority, for one name or address."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = folder / "certificate.pem"
        key = folder / "key.pem"
        subprocess.run(
            [
                *(program("openssl", "openssl"), "req", "-x509"),
                *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
                *("-nodes", "-days", "2", "-subj", "/CN=Tenure", "-addext", f"subjectAltName={name}"),
                *("-keyout", str(key), "-out", str(self.file)),
            ],
            check=True,
            capture_output=True,
        )
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.file, key)


@asynccontextmanager
async def listening(serve: Any, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Serve connections on a free port, and cut them when the block ends."""
    serving: set[asyncio.Task[None]] = set()

    async def kept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await serve(reader, writer)
        except asyncio.CancelledError:
            pass
        finally:
            writer.transport.abort()
            serving.discard(task)

    server = await asyncio.start_server(kept, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in [*serving]:
            task.cancel()
        await until(lambda: not serving)


class Threaded:
    """A `Client` with the methods of an `AsyncClient`: each call runs in a thread."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name == "new_job":
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        async def each(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            items = method(*args, **kwargs)
            try:
                while (item := await asyncio.to_thread(next, items, None)) is not None:
                    yield item
            finally:
                items.close()

        return each if name in {"list", "events", "steps"} else call


@asynccontextmanager
async def open_client(
    kind: str, url: str, key: str | None = None, timeout: float = PATIENCE
) -> AsyncIterator[Any]:
    """A client of this kind, with the methods of an `AsyncClient`, until the block ends."""
    if kind == "AsyncClient":
        async with AsyncClient(url, key, timeout=timeout) as client:
            yield client
    else:
        with Client(url, key, timeout=timeout) as client:
            yield Threaded(client)
