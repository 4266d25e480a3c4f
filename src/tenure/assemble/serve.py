"""HTTP, a worker and the duties in one process: `tenure serve`."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from tenure.assemble.clock_notice import warn_of_clock
from tenure.assemble.generation import WorkerOptions
from tenure.assemble.messages import with_messages
from tenure.assemble.relay import relaying
from tenure.assemble.server import listen_for, server_on
from tenure.assemble.span_export import exported
from tenure.assemble.supervisor import StoppableWorker, Supervisor
from tenure.assemble.worker import open_worker
from tenure.core.signals import to_all
from tenure.engine.upkeep.caretaker import Caretaker
from tenure.engine.upkeep.duties import OnOutlook
from tenure.settings.sources import Loaded
from tenure.storage.address import ConnectionTerms, open_store
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.api_metrics import ApiMetrics
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics


@asynccontextmanager
async def open_serve(
    app: str | None,
    loaded: Loaded,
    logs: EventLog,
    on_early_end: Callable[[str], None],
    options: WorkerOptions,
) -> AsyncIterator[Supervisor]:
    """A server and a worker on one store, ready to run together; without an app, no job is run."""
    settings = loaded.settings
    async with AsyncExitStack() as stack:
        metrics, worker_metrics = ApiMetrics(), WorkerMetrics()
        spans = await stack.enter_async_context(exported(settings, logs.notice, metrics.external.called))
        worker: StoppableWorker
        if app is None:
            terms = ConnectionTerms(settings.api_connections, on_signal=logs)
            store, database = await open_store(settings.database, terms), settings.database
            stack.push_async_callback(store.close)
            await warn_of_clock(store, logs)
            sending = with_messages(store, settings, to_all(worker_metrics, logs))
            store = (await stack.enter_async_context(sending)).store
            on_outlook = await stack.enter_async_context(relaying(store, settings, logs, worker_metrics))
            worker = _caretaker(store, loaded, logs, worker_metrics, on_outlook)
        else:
            opening = open_worker(
                *(app, loaded, logs, worker_metrics, spans),
                options=options,
                more_connections=settings.api_connections,
            )
            opened = await stack.enter_async_context(opening)
            opened.worker.stay()
            worker, store, database = opened
        listening = stack.enter_context(await listen_for(store, settings))
        server = server_on(
            store,
            listening,
            settings,
            logs,
            database=database,
            metrics=metrics,
            spans=spans,
            worker_metrics=worker_metrics,
            is_ready=lambda: worker.is_ready,
        )
        yield Supervisor(
            await stack.enter_async_context(server), worker, settings.shutdown_seconds, on_early_end
        )


def _caretaker(
    store: Store, loaded: Loaded, logs: EventLog, metrics: WorkerMetrics, on_outlook: OnOutlook
) -> Caretaker:
    logs.notice("no app was given: this process serves HTTP and runs the duties, but no jobs")
    return Caretaker(metrics.on(store), loaded.settings, to_all(metrics, logs), on_outlook)
