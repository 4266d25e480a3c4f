"""A worker with all that it needs: its processes, its store, its definitions on record, its telemetry."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tenure.assemble.handler_variables import handler_variables, shown_by_the_app
from tenure.assemble.span_export import exported
from tenure.assemble.start_notices import start_notices
from tenure.core.reports.operations import WorkerInfo
from tenure.core.signals import Announce, Troubled, to_all
from tenure.core.values.urls import masked
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Manifest, Registry
from tenure.engine.config import WorkerConfig, new_worker_name, served_lines
from tenure.engine.worker.slot_groups import slot_groups
from tenure.engine.worker.worker import Worker
from tenure.execution.lanes import Lanes, LaneSet
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.parent.scratch import place_in
from tenure.execution.protocol import kernel
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.execution.protocol.messages import OWN
from tenure.settings.settings import Settings
from tenure.settings.sources import Loaded
from tenure.storage.address import ConnectionTerms, open_store
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.lag import watched
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tenure.telemetry.traces.attempt_spans import AttemptSpans
from tenure.telemetry.traces.spans import Spans
from tenure.version import __version__


class OpenWorker(NamedTuple):
    """A worker that is ready to run, its open store, and the store's address."""

    worker: Worker
    store: Store
    database: str


def build_worker(
    store: Store, lanes: LaneSet, registry: Registry, announce: Announce, *, worker: str, settings: Settings
) -> Worker:
    """A worker that serves these definitions as the settings say."""
    lines = served_lines(registry.specs(), settings.queues)
    config = WorkerConfig.of(settings, worker=worker, lines=lines)
    info = WorkerInfo(
        id=worker,
        host=socket.gethostname()[:255],
        pid=os.getpid(),
        version=__version__,
        slots=sum(group.slots for group in slot_groups(registry.specs(), config)),
        lines=lines,
    )
    return Worker(store, lanes, info, registry, config, announce)


@asynccontextmanager
async def open_lone_worker(app: str, loaded: Loaded, logs: EventLog) -> AsyncIterator[Worker]:
    """A worker that has its process to itself, and exports its own spans."""
    async with (
        exported(loaded.settings, logs.notice) as spans,
        open_worker(app, loaded, logs, spans=spans) as opened,
    ):
        yield opened.worker


@asynccontextmanager
async def open_worker(
    app: str,
    loaded: Loaded,
    logs: EventLog,
    metrics: WorkerMetrics | None = None,
    spans: Spans | None = None,
    *,
    more_connections: int = 0,
) -> AsyncIterator[OpenWorker]:
    """A worker that serves an app; its log begins with what it serves, and how.

    It counts in `metrics`, or in its own where the settings name a port for them, and records its attempts
    as `spans`. `more_connections` are for a server that shares its store.
    """
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        serve_metrics = None
        if settings.metrics_port is not None:
            # Not at the top: it loads the HTTP server, which a worker without this port does not need.
            from tenure.assemble.metrics_port import listen, port

            serve_metrics = partial(
                port, stack.enter_context(listen(settings.metrics_host, settings.metrics_port))
            )
            metrics = metrics or WorkerMetrics()
        user = _child_user(settings)
        environment = handler_variables(settings, [settings.database], user)
        lanes = _lanes(app, settings, environment, user, logs)
        stack.push_async_callback(lanes.close)
        manifest = Manifest.read(await lanes.start())
        registry = manifest.registry()
        database = settings.database
        if "database" not in loaded.sources and manifest.database is not None:
            database = manifest.database
        most = settings.connections + more_connections
        store = await open_store(database, ConnectionTerms(most, for_worker=True, on_signal=logs))
        stack.push_async_callback(store.close)
        name = new_worker_name()
        worker = _observed_worker(store, lanes, registry, logs, name, settings, metrics, spans)
        for changed in await save_definitions(store, registry.specs(), name):
            logs.notice(changed)
        logs.notice(f"{app} on {masked(database)}")
        for notice in start_notices(registry.specs(), settings, user=user.name if user else None):
            logs.notice(notice)
        logs.notice(environment.notice)
        if database != settings.database and (shown := shown_by_the_app(environment, database)):
            logs.notice(shown)
        if lanes.notice:
            logs.notice(lanes.notice)
        if metrics is not None:
            stack.enter_context(watched(metrics.lag))
        if metrics is not None and serve_metrics is not None:
            await stack.enter_async_context(serve_metrics(store, metrics, logs, lambda: worker.is_ready))
        yield OpenWorker(worker, store, database)


def _lanes(
    app: str, settings: Settings, environment: ChildEnvironment, user: ChildUser | None, logs: EventLog
) -> Lanes:
    return Lanes(
        app,
        environment=environment,
        guards=OrphanGuards.adopting(on_left=lambda left: logs(Troubled("guards", left, 1))),
        user=user,
        keeps_signals=settings.child_signals == OWN and kernel.can_keep_signals(),
    )


def _observed_worker(
    store: Store,
    lanes: Lanes,
    registry: Registry,
    logs: EventLog,
    name: str,
    settings: Settings,
    metrics: WorkerMetrics | None,
    spans: Spans | None,
) -> Worker:
    measured = store
    traced: LaneSet = lanes
    listeners: list[Announce] = []
    if metrics is not None:
        measured = metrics.on(store)
        listeners.append(metrics)
    if spans is not None:
        attempts = AttemptSpans(spans, store)
        traced = attempts.on(lanes)
        listeners.append(attempts)
    worker = build_worker(
        measured, traced, registry, to_all(*listeners, logs), worker=name, settings=settings
    )
    if metrics is not None:
        metrics.watch(worker, lanes)
    return worker


def _child_user(settings: Settings) -> ChildUser | None:
    """The children's user, if it is not the worker's own; raises InvalidInput if it cannot be used."""
    if not settings.child_user:
        return None
    user = ChildUser.named(settings.child_user)
    user.check([Path.cwd(), place_in(os.environ)])
    return user
