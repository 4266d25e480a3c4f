"""A worker with all that it needs: its processes, its store, its definitions on record, its telemetry."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import NamedTuple

from tenure.assemble.clock_notice import warn_of_clock
from tenure.assemble.generation import Generation, Generations, WorkerOptions
from tenure.assemble.handler_variables import shown_by_the_app
from tenure.assemble.messages import with_messages
from tenure.assemble.relay import relaying
from tenure.assemble.reloading_worker import ReloadingWorker, first_app, next_generation
from tenure.assemble.source_files import SourceFiles
from tenure.assemble.span_export import exported
from tenure.assemble.start_notices import start_notices
from tenure.core.signals import to_all
from tenure.core.values.urls import masked
from tenure.engine.worker.worker import Worker
from tenure.settings.settings import Settings
from tenure.settings.sources import Loaded
from tenure.storage.address import ConnectionTerms, open_store
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.lag import watched
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tenure.telemetry.traces.spans import Spans

USUAL = WorkerOptions()


class OpenWorker(NamedTuple):
    """A worker that is ready to run, its open store, and the store's address."""

    worker: Worker | ReloadingWorker
    store: Store
    database: str


@asynccontextmanager
async def open_lone_worker(
    app: str, loaded: Loaded, logs: EventLog, options: WorkerOptions = USUAL
) -> AsyncIterator[Worker | ReloadingWorker]:
    """A worker that has its process to itself, and exports its own spans."""
    async with (
        exported(loaded.settings, logs.notice) as spans,
        open_worker(app, loaded, logs, spans=spans, options=options) as opened,
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
    options: WorkerOptions = USUAL,
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
        generations = Generations(app, settings, logs, options, metrics, spans)
        files = SourceFiles.of(app) if options.reloads else None
        imported = await (generations.import_app() if files is None else first_app(generations, files, logs))
        stack.push_async_callback(imported.lanes.close)
        named = imported.manifest.database
        database = settings.database if "database" in loaded.sources or named is None else named
        most = settings.connections + more_connections
        store = await open_store(database, ConnectionTerms(most, for_worker=True, on_signal=logs))
        stack.push_async_callback(store.close)
        await warn_of_clock(store, logs)
        announce = logs if metrics is None else to_all(metrics, logs)
        store, messages = await stack.enter_async_context(with_messages(store, settings, announce))
        generations.messages, generations.database = messages, database
        generations.on_outlook = await stack.enter_async_context(relaying(store, settings, logs, metrics))
        generation = await generations.open(imported, store)
        _announce(f"{app} on {masked(database)}", generation, settings, generations, logs)
        if database != settings.database and (shown := shown_by_the_app(generations.environment, database)):
            logs.notice(shown)
        worker: Worker | ReloadingWorker = generation.worker
        if files is None:
            stack.push_async_callback(_close_lanes, generation)
        else:
            worker = ReloadingWorker(
                generation, partial(next_generation, generations, store, named), files, logs
            )
        if metrics is not None and messages is not None:
            metrics.messages.watch(messages.backlog)
        if metrics is not None:
            metrics.watch(worker, worker if isinstance(worker, ReloadingWorker) else generation.lanes)
            stack.enter_context(watched(metrics.lag))
        if metrics is not None and serve_metrics is not None:
            await stack.enter_async_context(serve_metrics(store, metrics, logs, lambda: worker.is_ready))
        yield OpenWorker(worker, store, database)


def _announce(
    what: str, generation: Generation, settings: Settings, generations: Generations, logs: EventLog
) -> None:
    logs.notice(what)
    user = generations.user
    for notice in start_notices(generation.registry.specs(), settings, user=user.name if user else None):
        logs.notice(notice)
    logs.notice(generations.environment.notice)
    if generation.lanes.notice:
        logs.notice(generation.lanes.notice)


async def _close_lanes(generation: Generation) -> None:
    await generation.lanes.close(at_once=generation.worker.is_forced)
