"""A worker in this process for an app of Tenure, in all its lanes."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from tenure.core.reports.operations import WorkerInfo
from tenure.core.signals import Signal
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Manifest
from tenure.engine.config import WorkerConfig, served_lines
from tenure.engine.worker.worker import Worker
from tenure.execution.lanes import Lanes
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.storage.contract.store import Store
from tests.worker.running_worker import PATIENCE, ROOT, RunningWorker


@asynccontextmanager
async def serving_app(
    store: Store,
    target: str,
    *,
    slots: int = 4,
    lease: float = 30,
    poll: float = 1,
    folder: Path = ROOT,
) -> AsyncIterator[RunningWorker]:
    """A worker that serves what the app registers, while the context lasts."""
    lanes = Lanes(target, folder=folder, environment=ChildEnvironment(os.environ))
    try:
        registry = Manifest.read(await lanes.start()).registry()
        name = f"worker-{secrets.token_hex(4)}"
        lines = served_lines(registry.specs(), ())
        config = WorkerConfig(
            worker=name,
            lines=lines,
            slots=slots,
            lease=timedelta(seconds=lease),
            poll=timedelta(seconds=poll),
        )
        await save_definitions(store, registry.specs(), name)
        info = WorkerInfo(id=name, host="here", pid=os.getpid(), version="0", slots=slots, lines=lines)
        announced: list[Signal] = []
        worker = Worker(store, lanes, info, registry, config, announced.append)
        task = asyncio.create_task(worker.run())
        running = RunningWorker(worker, announced)
        try:
            yield running
        finally:
            if not running.is_stopping:
                running.stop()
            async with asyncio.timeout(PATIENCE):
                await task
    finally:
        await lanes.close()
