"""A worker on a store of its caller, in the caller's process: for the demo."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from tenure.assemble.generation import build_worker
from tenure.assemble.handler_variables import handler_variables
from tenure.assemble.observed_lanes import ObservedLanes
from tenure.core.model.lease import Progress
from tenure.core.signals import Announce
from tenure.engine.client.registry import Manifest, Registry
from tenure.engine.config import new_worker_name
from tenure.engine.worker.worker import Worker
from tenure.execution.lanes import Lanes
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store


class EmbeddedWorker(NamedTuple):
    """A worker that is ready to run, and the definitions that it serves."""

    worker: Worker
    registry: Registry


@asynccontextmanager
async def embedded_worker(
    app: str,
    store: Store,
    settings: Settings,
    *,
    folder: Path,
    databases: Sequence[str],
    announce: Announce,
    on_progress: Callable[[UUID, Progress], None],
) -> AsyncIterator[EmbeddedWorker]:
    """A worker that serves an app; its children run in `folder` and do not see where `databases` are."""
    lanes = Lanes(app, folder=folder, environment=handler_variables(settings, databases, None))
    try:
        registry = Manifest.read(await lanes.start()).registry()
        worker = build_worker(
            store,
            ObservedLanes(lanes, on_progress=lambda attempt, progress: on_progress(attempt.job, progress)),
            registry,
            announce,
            worker=new_worker_name(),
            settings=settings,
        )
        yield EmbeddedWorker(worker, registry)
    finally:
        await lanes.close()
