"""What a process has counted, for whoever scrapes it: on the API, and on a worker's own port."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenure.core.errors import InvalidInput
from tenure.engine.client import Client
from tenure.engine.registry import Registry
from tenure.storage.contract import Store
from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal
from tenure.surfaces.http.routes import Route
from tenure.telemetry.exposition import MEDIA_TYPE
from tenure.telemetry.logs import Logs
from tenure.telemetry.worker import WorkerMetrics


async def api(desk: Desk, _asked: Asked) -> Answer:
    """The registry of the process that answers, in the text format of Prometheus."""
    return Answer(200, await desk.metrics.text())


async def worker(desk: Desk, _asked: Asked) -> Answer:
    """The registry of the worker in this process, in the text format of Prometheus."""
    if desk.worker_metrics is None:
        raise Refusal("not-found", "there is no worker in this process")
    return Answer(200, await desk.worker_metrics.text())


WORKER = Route(
    method="GET",
    path="/metrics",
    audience="process",
    scope=None,
    handler=worker,
    summary="What the worker has counted",
    answers={200: str},
    produces=MEDIA_TYPE,
    any_host=True,
)
"""All that a worker's port offers."""


@asynccontextmanager
async def port(
    listening: socket.socket, store: Store, metrics: WorkerMetrics, logs: Logs
) -> AsyncIterator[None]:
    """Serve a worker's registry on a port of its own, while the context lasts."""
    from tenure.surfaces.http.server import Server

    client = Client(store, Registry())
    desk = Desk(store, client, worker_metrics=metrics, logs=logs)
    server = Server(desk, listening, shutdown_seconds=1, routes=[WORKER], on_bug=logs.failed)
    logs.notice(f"metrics at {server.url}{WORKER.path}")
    serving = asyncio.create_task(server.run())
    try:
        yield
    finally:
        server.stop()
        await serving
        await client.close()


def listen(host: str, number: int) -> socket.socket:
    """A socket for a worker's port. Raises InvalidInput, which names the setting, where there can be none."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        problem = f"is {host!r:.64}, which leads nowhere"
        raise InvalidInput("metrics_host", problem, "give 127.0.0.1") from None
    try:
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        problem = f"{number} cannot be used: {error.strerror}"
        raise InvalidInput("metrics_port", problem, "give another one, or 0 for any that is free") from None
