"""`app.metrics`: what a program that enqueues measures of itself, under the names of Tenure's own server."""

import asyncio
from functools import partial
from threading import Lock
from typing import Any

from tenure.core.signals import Signal
from tenure.execution.handler import metrics as measurements
from tenure.instrument import Call
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.api_metrics import RequestMetrics
from tenure.telemetry.metrics.exposition import MEDIA_TYPE, expose
from tenure.telemetry.metrics.instruments import FamilySnapshot
from tenure.telemetry.metrics.timed_store import OnAnswer, timed


class AppMeter:
    """Counts what the program and the library do; the library's thread does so as well as the program's."""

    def __init__(self) -> None:
        self._counted = RequestMetrics()
        self._lock = Lock()

    def on(self, store: Store) -> Store:
        """The store, with each of its calls counted."""
        counts = self._counted.durable.by_verb
        return timed(
            store, self._called, {verb: partial(self._told, count) for verb, count in counts.items()}
        )

    def announced(self, signal: Signal) -> None:
        """Count messages that were sent."""
        with self._lock:
            self._counted.messages(signal)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self._counted.answered(method, route, status, seconds)

    def measured(self, what: str, labels: list[str], value: float) -> None:
        """Count an upload, or a call of another service."""
        with self._lock:
            match what, labels:
                case measurements.CALLED, [service, operation, _, error_code]:
                    self._counted.external.called(service, operation, value, error_code)
                case measurements.UPLOADED, [mime_type]:
                    self._counted.external.uploaded(mime_type, value)

    def snapshots(self) -> list[FamilySnapshot]:
        """A copy of all families."""
        with self._lock:
            return self._counted.snapshots()

    def _told(self, count: OnAnswer, given: tuple[Any, ...], answer: Any) -> None:
        with self._lock:
            count(given, answer)

    def _called(self, verb: str, seconds: float, error: Exception | None) -> None:
        with self._lock:
            self._counted.called(verb, seconds, error)


class AppMetrics:
    """What this process counts of itself, for Prometheus. Any thread may call it."""

    media_type: str = MEDIA_TYPE
    """The content type of `text()`."""

    def __init__(self, meter: AppMeter) -> None:
        self._meter = meter

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered. `route` is a pattern, such as `/images/{id}`, not the path."""
        self._meter.answered(method, route, status, seconds)

    def upload(self, mime_type: str, size: int) -> None:
        """Count an upload of `size` bytes."""
        self._meter.measured(measurements.UPLOADED, [mime_type], max(0.0, float(size)))

    def external(self, service: str, operation: str, *, bucket: str = "") -> Call:
        """Measure a call to another service, as `instrument.external` does in handlers."""
        return Call(service, operation, bucket, self._meter.measured)

    async def text(self) -> bytes:
        """All of it, and the calls of the database, as Prometheus reads it: the body of your `/metrics`."""
        return await asyncio.to_thread(expose, self._meter.snapshots())
