"""The metrics of a process that answers requests."""

import asyncio

from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.durable_metrics import DurableMetrics
from tenure.telemetry.metrics.exposition import expose
from tenure.telemetry.metrics.handler_metrics import CALLS, ExternalCalls
from tenure.telemetry.metrics.instruments import OTHER, Counter, FamilySnapshot, Histogram, Instrument
from tenure.telemetry.metrics.message_metrics import SentMessages
from tenure.telemetry.metrics.timed_store import TABLES, timed
from tenure.telemetry.metrics.worker_metrics import FINE

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""The methods that have their own label: a client can invent others."""

NOWHERE = "none"
"""The route of a request that has none."""


class RequestMetrics:
    """Counts and times requests, their bodies, calls of other services, and those of the store."""

    def __init__(self) -> None:
        labels = ("method", "route", "status_code")
        self._duration = Histogram(
            "http_request_duration_seconds", "How long requests took.", *labels, bounds=CALLS
        )
        self._requests = Counter("http_requests_total", "Requests that were answered.", *labels)
        self._queries = Histogram(
            *("db_query_duration_seconds", "How long the store took for a verb.", "operation", "table"),
            bounds=CALLS,
        )
        self._query_errors = Counter(
            *("db_query_error_total", "Verbs of the store that failed."),
            *("operation", "table", "error_code"),
        )
        self._verbs = Histogram(
            *("tenure_store_seconds", "How long the store took for a verb, finely.", "verb"), bounds=FINE
        )
        self.external = ExternalCalls()
        self.messages = SentMessages()
        self.durable = DurableMetrics()

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is the path in the route table, not the requested path."""
        labels = (method if method in METHODS else OTHER, route, str(status))
        self._duration.observe(labels, seconds)
        self._requests.add(labels)

    def on(self, store: Store) -> Store:
        """The store, timed."""
        return timed(store, self.called, self.durable.by_verb)

    async def text(self) -> bytes:
        """All metrics, for a scrape."""
        return await asyncio.to_thread(expose, self.snapshots())

    def snapshots(self) -> list[FamilySnapshot]:
        """A copy of all families."""
        return [one.snapshot() for one in self._instruments()]

    def _instruments(self) -> list[Instrument]:
        own = [value for value in vars(self).values() if isinstance(value, Counter | Histogram)]
        return [*own, *self.external.instruments, *self.messages.instruments, *self.durable.instruments]

    def called(self, verb: str, seconds: float, error: Exception | None) -> None:
        """Count a call of the store."""
        table = TABLES.get(verb, "job")
        self._queries.observe((verb, table), seconds)
        self._verbs.observe((verb,), seconds)
        if error is not None:
            self._query_errors.add((verb, table, type(error).__name__))


class ApiMetrics(RequestMetrics):
    """The metrics of Tenure's own server: those of requests, and how late its event loop is."""

    def __init__(self) -> None:
        super().__init__()
        self.lag = Histogram("tenure_loop_lag_seconds", "How late the event loop comes round.", bounds=FINE)
