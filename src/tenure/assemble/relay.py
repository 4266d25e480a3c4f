"""Webhooks beside a worker or the duties: sent by every process that does the upkeep of a store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenure.core.signals import Announce, to_all
from tenure.engine.upkeep.duties import OnOutlook
from tenure.relay.webhooks import WebhookRelay
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics


@asynccontextmanager
async def relaying(
    store: Store, settings: Settings, logs: EventLog, metrics: WorkerMetrics | None
) -> AsyncIterator[OnOutlook]:
    """Webhooks are sent while the context lasts, woken by what the duties see."""
    announce: Announce = logs if metrics is None else to_all(metrics, logs)
    relay = WebhookRelay(store if metrics is None else metrics.on(store), settings, announce)
    task = asyncio.create_task(relay.run(), name="tenure-webhooks")
    try:
        yield relay.on_outlook
    finally:
        task.cancel()
        await asyncio.wait([task])
