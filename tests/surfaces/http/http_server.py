"""A server in the test's own loop, on a real socket, and two clients for it: for requests and for bytes."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
import msgspec
import uvicorn.server

from tenure.core.model.spec import Spec
from tenure.core.reports.operations import Definition
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.engine.webhooks.webhooks import WebhookTerms
from tenure.settings.http_limits import HttpLimits
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.server.server import Server, listen
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.traces.request_spans import RequestSpans
from tests import canaries

PATIENCE = 60.0
"""Seconds after which an expected answer counts as missing."""


class _Briefly:
    """asyncio for uvicorn, with sleeps a tenth as long, so that a server stops soon.

    Most tests here have a server of their own, and stopping it would take longer than the test itself.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = _Briefly()  # type: ignore[assignment, attr-defined]


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def kind(self) -> str:
        """The kind of problem; the answer must be a complete problem."""
        problem = self.json
        assert self.headers["content-type"] == "application/problem+json"
        assert problem["status"] == self.status
        assert problem["requestId"] == self.headers["x-request-id"]
        assert problem.keys() >= {"type", "title", "detail", "instance"}
        kind: str = problem["type"].removeprefix("/docs#")
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
        reply = await self.reply_to_head()
        async with asyncio.timeout(PATIENCE):
            body = await self._reader.readexactly(int(reply.headers.get("content-length", "0")))
        canaries.look("an answer on the wire", body)
        return reply._replace(body=body)

    async def reply_to_head(self) -> Reply:
        """The next answer, up to where its body would begin."""
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        return Reply(int(head[0].split()[1]), {name.lower(): text for name, text in headers.items()}, b"")

    async def is_closed(self) -> bool:
        """Wait for the server to close; whether nothing else came before."""
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


class ReceivedEvent(NamedTuple):
    """An event of a stream."""

    id: str
    event: str
    data: Any


class Listener:
    """Reads a stream of events as browsers do."""

    def __init__(self, answer: httpx.Response) -> None:
        self.status = answer.status_code
        self.headers = dict(answer.headers)
        self.ids: list[str] = []
        """Every id received; it would reconnect with the last."""
        self.beats = 0
        self._lines = answer.aiter_lines()

    async def next(self) -> ReceivedEvent | None:
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
                    return ReceivedEvent(
                        fields.get("id", ""), fields["event"], msgspec.json.decode(fields["data"])
                    )
                fields = {}
        return None

    @asynccontextmanager
    async def in_silence(self) -> AsyncIterator[None]:
        """Listen while nothing is expected to come."""
        listening = asyncio.create_task(self.next())
        yield
        listening.cancel()
        await asyncio.wait([listening])

    async def take(self, number: int) -> list[ReceivedEvent]:
        """The next so many events, or all up to the end."""
        found: list[ReceivedEvent] = []
        while len(found) < number and (event := await self.next()):
            found.append(event)
        return found

    async def rest(self) -> list[ReceivedEvent]:
        """All up to the end."""
        return await self.take(10**9)


class Api:
    """A running server."""

    def __init__(self, server: Server, client: httpx.AsyncClient, bugs: list[str]) -> None:
        self.server = server
        self.bugs = bugs
        """What the server passed to `on_bug`."""
        self._client = client

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        url = httpx.URL(self.server.url)
        return url.host, url.port or 0

    async def call(self, method: str, path: str, json: object = None, **extra: Any) -> Reply:
        """Send a request; `json` is its body. Of a stream only the head is read."""
        if json is not None:
            extra["content"] = msgspec.json.encode(json)
            extra["headers"] = {"content-type": "application/json", **extra.get("headers", {})}
        async with self._client.stream(method, path, **extra) as answer:
            is_stream = answer.headers.get("content-type") == "text/event-stream"
            body = b"" if is_stream else await answer.aread()
        return Reply(answer.status_code, dict(answer.headers), body)

    @asynccontextmanager
    async def listen(self, path: str, *, last: str | None = None, **headers: str) -> AsyncIterator[Listener]:
        """A stream of events, after the last id if one is given."""
        headers = {"accept": "text/event-stream", **({"last-event-id": last} if last else {}), **headers}
        async with self._client.stream("GET", path, headers=headers) as answer:
            yield Listener(answer)

    async def post(self, path: str, json: object = None, **extra: Any) -> Reply:
        return await self.call("POST", path, json, **extra)

    async def get(self, path: str, **extra: Any) -> Reply:
        return await self.call("GET", path, **extra)

    @asynccontextmanager
    async def wire(self) -> AsyncIterator[Wire]:
        """A new connection."""
        wire = Wire(*await asyncio.open_connection(*self.address))
        try:
            yield wire
        finally:
            await wire.close()

    async def send(self, data: bytes) -> Reply:
        """Send bytes on a new connection, and read one answer."""
        async with self.wire() as wire:
            await wire.send(data)
            return await wire.reply()


@asynccontextmanager
async def serving(
    store: Store,
    *,
    limits: HttpLimits | None = None,
    routes: Iterable[Route] = ROUTES,
    metrics: ApiMetrics | None = None,
    max_queue_depth: int = 0,
    max_namespace_jobs: int = 0,
    spans: RequestSpans | None = None,
    logs: EventLog | None = None,
    webhook_terms: WebhookTerms | None = None,
    deployment: str = "",
    **rest: Any,
) -> AsyncIterator[Api]:
    """A server on a store, until the block ends."""
    client = JobClient(
        store if metrics is None else metrics.on(store),
        Registry(),
        max_queue_depth=max_queue_depth,
        max_namespace_jobs=max_namespace_jobs,
        webhook_terms=webhook_terms,
    )
    bugs: list[str] = []
    server = Server(
        AppContext(store, client, metrics=metrics, spans=spans, logs=logs, deployment=deployment),
        listen("127.0.0.1", 0),
        limits=limits,
        routes=routes,
        on_bug=lambda request, error: bugs.append(f"request {request} failed: {error!r}"),
        **rest,
    )
    running = asyncio.create_task(server.run())
    try:
        # Nothing is encrypted here, and to read the certificates would take longer than most tests do.
        options: dict[str, Any] = {"verify": False, "trust_env": False}
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, **options) as http_client:
            yield Api(server, http_client, bugs)
    finally:
        server.stop()
        await running
        await client.close()


async def register(store: Store, *specs: Spec) -> None:
    """Register definitions, as a worker does."""
    await store.put_definitions(
        [Definition(key=spec.key, version=spec.version, spec=spec.document()) for spec in specs]
    )


def request(
    method: str = "POST", path: str = "/v1/jobs", headers: dict[str, str] | None = None, body: bytes = b""
) -> bytes:
    """A request in bytes, with a host, and with its length unless the headers give one."""
    given = {"Host": "localhost", **(headers or {})}
    if body and not {"Content-Length", "Transfer-Encoding"} & given.keys():
        given["Content-Length"] = str(len(body))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body
