"""A worker's own port: Prometheus scrapes its metrics there, and a supervisor asks for its health."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tenure.core.errors import InvalidInput
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.storage.contract.store import Store
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.app.routes import Route
from tenure.surfaces.http.calls import metrics
from tenure.surfaces.http.calls.tables.process import HEALTH
from tenure.surfaces.http.server.server import Server
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.exposition import MEDIA_TYPE
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics

METRICS = Route(
    method="GET",
    path="/metrics",
    audience="process",
    scope=None,
    handler=metrics.worker,
    summary="The metrics of the worker",
    answers={200: str},
    produces=MEDIA_TYPE,
    any_host=True,
)
"""The metrics; the other routes of the port are those of health."""


@asynccontextmanager
async def port(
    listening: socket.socket,
    store: Store,
    counted: WorkerMetrics,
    logs: EventLog,
    is_ready: Callable[[], bool],
) -> AsyncIterator[None]:
    """Serve a worker's metrics and health on its own port while the context lasts."""
    client = JobClient(store, Registry())
    context = AppContext(store, client, is_ready=is_ready, worker_metrics=counted, logs=logs)
    server = Server(context, listening, shutdown_seconds=1, routes=[METRICS, *HEALTH], on_bug=logs.failed)
    logs.notice(f"metrics at {server.url}{METRICS.path}")
    serving = asyncio.create_task(server.run())
    try:
        yield
    finally:
        server.stop()
        await serving
        await client.close()


def listen(host: str, number: int) -> socket.socket:
    """A socket for the port. Raises InvalidInput that names the setting where it cannot listen."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        problem = f"is {host!r:.64}, which cannot be resolved"
        raise InvalidInput("metrics_host", problem, "give 127.0.0.1") from None
    try:
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        problem = f"{number} cannot be used: {error.strerror}"
        raise InvalidInput("metrics_port", problem, "give another port, or 0 for any free one") from None
