"""The duties of the clock in a process of their own: `tenure scheduler`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from tenure.assemble.clock_notice import warn_of_clock
from tenure.assemble.messages import with_messages
from tenure.assemble.relay import relaying
from tenure.core.signals import to_all
from tenure.core.values.urls import masked
from tenure.engine.upkeep.caretaker import Caretaker
from tenure.settings.settings import Settings
from tenure.storage.address import ConnectionTerms, open_store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.lag import watched
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics


@asynccontextmanager
async def open_scheduler(settings: Settings, logs: EventLog) -> AsyncIterator[Caretaker]:
    """A process that fires schedules, queues due jobs and takes back lost ones, ready to run."""
    async with AsyncExitStack() as stack:
        serve_metrics = None
        if settings.metrics_port is not None:
            # Not at the top: it loads the HTTP server, which is not needed without this port.
            from tenure.assemble.metrics_port import listen, port

            serve_metrics = partial(
                port, stack.enter_context(listen(settings.metrics_host, settings.metrics_port))
            )
        terms = ConnectionTerms(settings.connections, on_signal=logs)
        store = await open_store(settings.database, terms)
        stack.push_async_callback(store.close)
        await warn_of_clock(store, logs)
        metrics = WorkerMetrics()
        sending = with_messages(store, settings, to_all(metrics, logs))
        store = (await stack.enter_async_context(sending)).store
        on_outlook = await stack.enter_async_context(relaying(store, settings, logs, metrics))
        caretaker = Caretaker(metrics.on(store), settings, to_all(metrics, logs), on_outlook)
        logs.notice(f"schedules and duties on {masked(settings.database)}; this process runs no jobs")
        if serve_metrics is not None:
            stack.enter_context(watched(metrics.lag))
            await stack.enter_async_context(serve_metrics(store, metrics, logs, lambda: caretaker.is_ready))
        yield caretaker
