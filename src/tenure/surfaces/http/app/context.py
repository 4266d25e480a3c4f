"""What the handler of a route is given, and what it returns."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any, Protocol, TypedDict
from uuid import UUID

from msgspec import Struct

from tenure.api import inputs
from tenure.api.redaction import USUAL, Redaction
from tenure.core.errors import InvalidInput
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.engine.client.client import JobClient
from tenure.storage.contract.access import AccessStore
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.caller import Caller
from tenure.surfaces.http.app.concurrency_limit import ConcurrencyLimit
from tenure.surfaces.http.app.page_request import PageRequest
from tenure.surfaces.http.app.problems import NO_SUCH_JOB, Refusal
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tenure.telemetry.traces.request_spans import RequestSpans

FRESH = 1.0
"""Seconds for which one check of the schema answers every readiness probe."""

LOCK_TIMEOUT = timedelta(minutes=10)

MOST_WAITING = 256
MOST_WAITING_BY_KEY = 128
"""How many requests may wait for jobs at once: in total, and with one key."""


class Marks(TypedDict):
    """What a job keeps of the request that recorded it."""

    namespace: str
    creator: str | None
    traceparent: str | None


class Reference(Protocol):
    """The server's routes, described: `encoded` is an OpenAPI document, `page` is HTML."""

    @property
    def encoded(self) -> bytes: ...

    @property
    def page(self) -> bytes: ...


class Request(Struct, frozen=True, kw_only=True):
    """A request that passed all checks: the parts of its path, its parameters, its body.

    `gone` returns when the client has closed the connection. `is_admitted` says whether the caller would
    still be admitted: a stream must not outlast its key. Names of headers are in lower case. Jobs that it
    records continue the trace of `traceparent`. `page_request` is there when a browser asks for a page.
    `reference` describes the server's routes.
    """

    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    gone: Callable[[], Awaitable[None]]
    caller: Caller
    is_admitted: Callable[[], Awaitable[bool]]
    reference: Reference
    headers: Mapping[str, str] = {}
    traceparent: str | None = None
    page_request: PageRequest | None = None

    @property
    def page(self) -> PageRequest:
        """The browser's part of a request for a page."""
        if self.page_request is None:
            raise LookupError("this route is no page")
        return self.page_request

    @property
    def csrf(self) -> str:
        """The CSRF token for the forms of a page."""
        return self.page.csrf

    @property
    def marks(self) -> Marks:
        """What its jobs keep of it."""
        return {
            "namespace": self.caller.namespace or USUAL_NAMESPACE,
            "creator": self.caller.key,
            "traceparent": self.traceparent,
        }

    @property
    def job(self) -> UUID:
        """The job that the path names. A text that is no id is refused as an unknown job."""
        try:
            return inputs.job_id(self.path["jobId"])
        except InvalidInput:
            raise Refusal("not-found", NO_SUCH_JOB) from None


class Response(Struct, frozen=True):
    """A status and a body: bytes are sent as they are, any other value as JSON.

    `media_type` is for a route whose answers have several types.
    """

    status: int
    value: Any
    headers: Mapping[str, str] = {}
    media_type: str | None = None


class StreamedResponse(Struct, frozen=True):
    """An answer whose body is sent in chunks as they come, and its caller."""

    caller: Caller
    chunks: AsyncGenerator[bytes, None]
    status: int = 200
    headers: Mapping[str, str] = {}


class AppContext:
    """What all handlers share: the client, redaction, telemetry, and whether the server is stopping.

    `client` does all work on jobs. `access` is a second port to the same store, beside the client:
    authentication and audit read and write keys, sessions and audit entries there directly.
    """

    def __init__(
        self,
        store: Store,
        client: JobClient,
        redaction: Redaction = USUAL,
        *,
        is_ready: Callable[[], bool] | None = None,
        metrics: ApiMetrics | None = None,
        worker_metrics: WorkerMetrics | None = None,
        spans: RequestSpans | None = None,
        logs: EventLog | None = None,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        deployment: str = "",
    ) -> None:
        """`is_ready` and `worker_metrics` are those of a worker in the same process, if there is one.

        `lock_timeout` is the lease of workers over HTTP that send no heartbeats. `deployment` is the name of
        this installation, which pages show.
        """
        self.client = client
        self.metrics = metrics or ApiMetrics()
        self.worker_metrics = worker_metrics
        self.spans = spans
        self.logs = logs
        self.redaction = redaction
        self.lock_timeout = lock_timeout
        self.deployment = deployment
        self.access: AccessStore = store
        self.flow_cache = client.flow_cache
        self.stopping = asyncio.Event()
        self.waits = ConcurrencyLimit(MOST_WAITING, MOST_WAITING_BY_KEY, "waiting request")
        self._store = store
        self._is_ready = is_ready
        self._checking = asyncio.Lock()
        self._checked_at: float | None = None

    async def require_ready(self) -> None:
        """Raise StoreError unless the store answers, with a schema that fits this version.

        Raises Refusal when the server is stopping, or the worker in its process cannot claim.
        """
        if self.stopping.is_set():
            raise Refusal("busy", "the server is stopping; send requests to another one")
        if self._is_ready is not None and not self._is_ready():
            raise Refusal("busy", "the worker in this process cannot claim jobs at present")
        loop = asyncio.get_running_loop()
        async with self._checking:
            if self._checked_at is None or loop.time() - self._checked_at > FRESH:
                self._checked_at = None
                await self._store.verify()
                self._checked_at = loop.time()
