"""A server in the test's own loop, on a real socket, and two ways to speak to it: in words and in bytes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
import msgspec
import uvicorn.server

from tenure.core.operations import Definition
from tenure.core.spec import Spec
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.storage.contract import Store
from tenure.surfaces.http.connection import Limits
from tenure.surfaces.http.desk import Desk
from tenure.surfaces.http.routes import Route
from tenure.surfaces.http.server import Server, listen
from tenure.surfaces.http.table import ROUTES
from tenure.telemetry.api import ApiMetrics
from tenure.telemetry.logs import Logs
from tenure.telemetry.requests import RequestSpans
from tests import canaries

PATIENCE = 60.0
"""Seconds after which what should come is taken never to come."""


class _Briefly:
    """What uvicorn knows of asyncio; it looks ten times as often whether it is to stop, and has stopped.

    Most tests here have a server of their own, and would take longer to end than all else that they do.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Briefly()  # type: ignore[assignment, attr-defined]


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def kind(self) -> str:
        """The kind of problem, which must be told in full."""
        told = self.json
        assert self.headers["content-type"] == "application/problem+json"
        assert told["status"] == self.status
        assert told["requestId"] == self.headers["x-request-id"]
        assert told.keys() >= {"type", "title", "detail", "instance"}
        kind: str = told["type"].removeprefix("/docs#")
        return kind


class Wire:
    """One connection, in bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def reply(self) -> Reply:
        """The next answer."""
        told = await self.reply_to_head()
        async with asyncio.timeout(PATIENCE):
            body = await self._reader.readexactly(int(told.headers.get("content-length", "0")))
        canaries.look("an answer on the wire", body)
        return told._replace(body=body)

    async def reply_to_head(self) -> Reply:
        """The next answer, up to where its body would begin."""
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        return Reply(int(head[0].split()[1]), {name.lower(): text for name, text in headers.items()}, b"")

    async def is_closed(self) -> bool:
        """Wait for the end of what the server says; whether nothing else came before it."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self._reader.read() == b""
            except ConnectionError:
                return True

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            pass


class Told(NamedTuple):
    """An event, as whoever listens is told of it."""

    id: str
    event: str
    data: Any


class Listener:
    """Reads a stream of events as browsers do."""

    def __init__(self, answer: httpx.Response) -> None:
        self.status = answer.status_code
        self.headers = dict(answer.headers)
        self.ids: list[str] = []
        """All that it was told; it would come back with the last."""
        self.beats = 0
        self._lines = answer.aiter_lines()

    async def next(self) -> Told | None:
        """The next event; None at the end."""
        fields: dict[str, str] = {}
        async with asyncio.timeout(PATIENCE):
            async for line in self._lines:
                if line:
                    name, _, value = line.partition(":")
                    fields[name] = value.removeprefix(" ")
                    self.beats += not name
                    continue
                if "id" in fields:
                    self.ids.append(fields["id"])
                if "data" in fields:
                    return Told(fields.get("id", ""), fields["event"], msgspec.json.decode(fields["data"]))
                fields = {}
        return None

    @asynccontextmanager
    async def in_silence(self) -> AsyncIterator[None]:
        """Listen while nothing is expected to come."""
        listening = asyncio.create_task(self.next())
        yield
        listening.cancel()
        await asyncio.wait([listening])

    async def take(self, number: int) -> list[Told]:
        """The next so many events, or all up to the end."""
        found: list[Told] = []
        while len(found) < number and (told := await self.next()):
            found.append(told)
        return found

    async def rest(self) -> list[Told]:
        """All up to the end."""
        return await self.take(10**9)


class Api:
    """A server that runs."""

    def __init__(self, server: Server, client: httpx.AsyncClient, told: list[str]) -> None:
        self.server = server
        self.told = told
        """What it has told its operator."""
        self._client = client

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        url = httpx.URL(self.server.url)
        return url.host, url.port or 0

    async def call(self, method: str, path: str, json: object = None, **extra: Any) -> Reply:
        """Send a request as a client does; `json` is its body. An answer that goes on is left at its head."""
        if json is not None:
            extra["content"] = msgspec.json.encode(json)
            extra["headers"] = {"content-type": "application/json", **extra.get("headers", {})}
        async with self._client.stream(method, path, **extra) as answer:
            goes_on = answer.headers.get("content-type") == "text/event-stream"
            body = b"" if goes_on else await answer.aread()
        return Reply(answer.status_code, dict(answer.headers), body)

    @asynccontextmanager
    async def listen(self, path: str, *, last: str | None = None, **headers: str) -> AsyncIterator[Listener]:
        """A stream of events, from behind the last one that came if there was one."""
        asking = {"accept": "text/event-stream", **({"last-event-id": last} if last else {}), **headers}
        async with self._client.stream("GET", path, headers=asking) as answer:
            yield Listener(answer)

    async def post(self, path: str, json: object = None, **extra: Any) -> Reply:
        return await self.call("POST", path, json, **extra)

    async def get(self, path: str, **extra: Any) -> Reply:
        return await self.call("GET", path, **extra)

    @asynccontextmanager
    async def wire(self) -> AsyncIterator[Wire]:
        """A connection of its own."""
        wire = Wire(*await asyncio.open_connection(*self.address))
        try:
            yield wire
        finally:
            await wire.close()

    async def send(self, data: bytes) -> Reply:
        """Send bytes on a connection of their own, and read one answer."""
        async with self.wire() as wire:
            await wire.send(data)
            return await wire.reply()


@asynccontextmanager
async def serving(
    store: Store,
    *,
    limits: Limits | None = None,
    routes: Iterable[Route] = ROUTES,
    metrics: ApiMetrics | None = None,
    max_queue_depth: int = 0,
    max_namespace_jobs: int = 0,
    spans: RequestSpans | None = None,
    logs: Logs | None = None,
    **rest: Any,
) -> AsyncIterator[Api]:
    """A server on a store, until the block ends."""
    client = Client(
        store if metrics is None else metrics.on(store),
        Registry(),
        max_queue_depth=max_queue_depth,
        max_namespace_jobs=max_namespace_jobs,
    )
    told: list[str] = []
    server = Server(
        Desk(store, client, metrics=metrics, spans=spans, logs=logs),
        listen("127.0.0.1", 0),
        limits=limits,
        routes=routes,
        on_bug=lambda request, error: told.append(f"request {request} failed: {error!r}"),
        **rest,
    )
    running = asyncio.create_task(server.run())
    try:
        # Nothing is encrypted here, and to read the certificates would take longer than most tests do.
        options: dict[str, Any] = {"verify": False, "trust_env": False}
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, **options) as speaker:
            yield Api(server, speaker, told)
    finally:
        server.stop()
        await running
        await client.close()


async def register(store: Store, *specs: Spec) -> None:
    """Let a store know of definitions, as a worker does."""
    await store.put_definitions(
        [Definition(key=spec.key, version=spec.version, spec=spec.document()) for spec in specs]
    )


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something of which nobody tells."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def request(
    method: str = "POST", path: str = "/v1/jobs", headers: dict[str, str] | None = None, body: bytes = b""
) -> bytes:
    """A request in bytes, with a host; its length is told unless the headers say something of it."""
    given = {"Host": "localhost", **(headers or {})}
    if body and not {"Content-Length", "Transfer-Encoding"} & given.keys():
        given["Content-Length"] = str(len(body))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
