"""What every handler of a route is given, and what it gives back."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypedDict
from uuid import UUID

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.job import USUAL_NAMESPACE
from tenure.engine.client import Client
from tenure.engine.passing import Passing
from tenure.storage.access import AccessStore
from tenure.storage.contract import Store
from tenure.surfaces import inputs
from tenure.surfaces.http.caller import Caller
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.seats import Seats
from tenure.surfaces.http.visits import Visit
from tenure.surfaces.redaction import USUAL, Redaction
from tenure.telemetry.api import ApiMetrics
from tenure.telemetry.logs import Logs
from tenure.telemetry.requests import RequestSpans
from tenure.telemetry.worker import WorkerMetrics

FRESH = 1.0
"""Seconds for which one look at the schema answers everybody who asks whether the server is ready."""


MOST_WAITING = 256
MOST_WAITING_BY_KEY = 128
"""How many requests may wait for jobs to claim at one time: in all, and with one key."""


class Marks(TypedDict):
    """What a job bears of the request by which it was asked for."""

    namespace: str
    creator: str | None
    traceparent: str | None


class Asked(Struct, frozen=True, kw_only=True):
    """A request that was found to be in order: the parts of its path, its parameters, its body.

    `gone` returns when the client has closed the connection. `is_admitted` says whether the caller would
    still be let in: an answer that goes on must not outlast its key. The names of headers are in lower case.
    What comes of it follows from `traceparent`.
    `visit` is the browser's, where a page is asked for.
    """

    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    gone: Callable[[], Awaitable[None]]
    caller: Caller
    is_admitted: Callable[[], Awaitable[bool]]
    headers: Mapping[str, str] = {}
    traceparent: str | None = None
    visit: Visit | None = None

    @property
    def page(self) -> Visit:
        """The visit of a request for a page."""
        if self.visit is None:
            raise LookupError("this is no request for a page")
        return self.visit

    @property
    def csrf(self) -> str:
        """The token for the forms of a page."""
        return self.page.csrf

    @property
    def marks(self) -> Marks:
        """What its jobs bear of it."""
        return {
            "namespace": self.caller.namespace or USUAL_NAMESPACE,
            "creator": self.caller.key,
            "traceparent": self.traceparent,
        }

    @property
    def job(self) -> UUID:
        """The job that the path names. What is not an id is the id of no job."""
        try:
            return inputs.job_id(self.path["jobId"])
        except InvalidInput:
            raise Refusal("not-found", "there is no such job") from None


class Answer(Struct, frozen=True):
    """A status and what is encoded as its body: JSON of any value, bytes as they are.

    `media_type` is for a route whose answers are of several kinds.
    """

    status: int
    value: Any
    headers: Mapping[str, str] = {}
    media_type: str | None = None


class Stream(Struct, frozen=True):
    """An answer that goes on: pieces of its body as they come, and whom it is for."""

    caller: Caller
    chunks: AsyncGenerator[bytes, None]
    status: int = 200
    headers: Mapping[str, str] = {}


class Desk:
    """The client on the store, what is not shown, whether the server is to stop, and whether it can work."""

    def __init__(
        self,
        store: Store,
        client: Client,
        redaction: Redaction = USUAL,
        *,
        is_ready: Callable[[], bool] | None = None,
        metrics: ApiMetrics | None = None,
        worker_metrics: WorkerMetrics | None = None,
        spans: RequestSpans | None = None,
        logs: Logs | None = None,
    ) -> None:
        """`is_ready` speaks for what runs beside the server in its process, and `worker_metrics` of it."""
        self.client = client
        self.metrics = metrics or ApiMetrics()
        self.worker_metrics = worker_metrics
        self.spans = spans
        self.logs = logs
        self.redaction = redaction
        self.store: AccessStore = store
        self.passing = Passing(store)
        self.stopping = asyncio.Event()
        self.waiting = Seats(MOST_WAITING, MOST_WAITING_BY_KEY, "wait")
        self._store = store
        self._is_ready = is_ready
        self._looking = asyncio.Lock()
        self._looked_at: float | None = None

    async def require_ready(self) -> None:
        """Raise StoreError unless the store answers and its schema is this version's.

        Raises Refusal when the server is about to end, or what runs beside it cannot work.
        """
        if self.stopping.is_set():
            raise Refusal("busy", "the server is about to stop")
        if self._is_ready is not None and not self._is_ready():
            raise Refusal("busy", "the worker in this process can claim nothing at present")
        loop = asyncio.get_running_loop()
        async with self._looking:
            if self._looked_at is None or loop.time() - self._looked_at > FRESH:
                self._looked_at = None
                await self._store.verify()
                self._looked_at = loop.time()
