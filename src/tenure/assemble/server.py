"""The HTTP server: its socket, its context, its routes and its limits, as the settings say."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta

from tenure.api.redaction import Redaction
from tenure.assemble.messages import with_messages
from tenure.assemble.span_export import exported
from tenure.core.signals import to_all
from tenure.core.values.urls import masked
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.engine.webhooks.webhooks import WebhookTerms
from tenure.settings.settings import Settings
from tenure.storage.address import ConnectionTerms, is_fresh, open_store
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.app.context import AppContext
from tenure.surfaces.http.calls.table import ROUTES
from tenure.surfaces.http.server.server import Server, listen
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.metrics.lag import watched
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tenure.telemetry.traces.request_spans import RequestSpans
from tenure.telemetry.traces.spans import Spans


@asynccontextmanager
async def open_server(settings: Settings, logs: EventLog) -> AsyncIterator[Server]:
    """A server that runs no jobs, with a store of its own; raises InvalidInput if it may not listen."""
    async with AsyncExitStack() as stack:
        store, listening = await _open_store_and_socket(settings, logs)
        stack.push_async_callback(store.close)
        stack.enter_context(listening)
        metrics = ApiMetrics()
        sending = with_messages(store, settings, to_all(metrics.messages, logs))
        store = (await stack.enter_async_context(sending)).store
        spans = await stack.enter_async_context(exported(settings, logs.notice, metrics.external.called))
        yield await stack.enter_async_context(
            server_on(
                store, listening, settings, logs, database=settings.database, metrics=metrics, spans=spans
            )
        )


@asynccontextmanager
async def server_on(
    store: Store,
    listening: socket.socket,
    settings: Settings,
    logs: EventLog,
    *,
    database: str,
    metrics: ApiMetrics,
    spans: Spans | None,
    worker_metrics: WorkerMetrics | None = None,
    is_ready: Callable[[], bool] | None = None,
) -> AsyncIterator[Server]:
    """A server on an open store; its log says where it listens, on which database, and for which callers.

    `worker_metrics` and `is_ready` are those of a worker in the same process.
    """
    async with AsyncExitStack() as stack:
        client = JobClient(
            metrics.on(store),
            Registry(),
            max_queue_depth=settings.max_queue_depth,
            max_namespace_jobs=settings.max_namespace_jobs,
            webhook_terms=WebhookTerms.of(settings),
        )
        stack.push_async_callback(client.close)
        stack.enter_context(watched(metrics.lag))
        context = AppContext(
            store,
            client,
            Redaction(settings.redact),
            is_ready=is_ready,
            metrics=metrics,
            worker_metrics=worker_metrics,
            spans=None if spans is None else RequestSpans(spans),
            logs=logs,
            lock_timeout=timedelta(seconds=settings.lock_timeout_seconds),
            deployment=settings.name,
        )
        server = build_server(context, listening, settings, logs)
        logs.notice(f"{server.url} on {masked(database)}, {await _open_to(store)}")
        yield server


def build_server(context: AppContext, listening: socket.socket, settings: Settings, logs: EventLog) -> Server:
    """A server with every route and page."""
    return Server(
        context,
        listening,
        routes=(*ROUTES, *PAGES),
        limits=settings,
        shutdown_seconds=settings.shutdown_seconds,
        hosts=settings.allowed_hosts,
        trusted_proxies=settings.trusted_proxies,
        requests_per_second=settings.requests_per_second,
        on_bug=logs.failed,
    )


async def listen_for(store: Store, settings: Settings) -> socket.socket:
    """The server's socket; raises InvalidInput if others could reach it and the store has no keys."""
    is_locked = (await store.find_keys([])).is_locked
    return listen(settings.host, settings.port, is_locked=is_locked)


async def _open_store_and_socket(settings: Settings, logs: EventLog) -> tuple[Store, socket.socket]:
    terms = ConnectionTerms(settings.api_connections, on_signal=logs)
    if is_fresh(settings.database):
        # A new file has no keys; it is not even created for a server that must not start.
        listening = listen(settings.host, settings.port)
        try:
            return await open_store(settings.database, terms), listening
        except BaseException:
            listening.close()
            raise
    store = await open_store(settings.database, terms)
    try:
        return store, await listen_for(store, settings)
    except BaseException:
        await store.close()
        raise


async def _open_to(store: Store) -> str:
    if (await store.find_keys([])).is_locked:
        return "open to callers with a key"
    return "open to this machine only: there are no keys"
