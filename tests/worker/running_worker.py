"""Runs a worker in this process, with its attempts in their own processes, and enqueues jobs for it."""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tenure.core.model.job import Job, NewJob
from tenure.core.model.lease import Line
from tenure.core.model.policy import Policy, RetryPolicy
from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tenure.core.signals import Signal, to_all
from tenure.core.values.documents import write
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Registry
from tenure.engine.config import WorkerConfig
from tenure.engine.worker.named_claims import Triggers
from tenure.engine.worker.worker import Worker
from tenure.execution.handler import tracing
from tenure.execution.handler.handler import Handler
from tenure.execution.lanes import Lanes
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tenure.telemetry.traces.attempt_spans import AttemptSpans
from tenure.telemetry.traces.spans import Spans
from tests import canaries
from tests.until import until
from tests.worker.engine_app import HANDLERS

TARGET = "tests.worker.engine_app:app"
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds after which a test gives up waiting."""

QUICK = RetryPolicy(base=timedelta(milliseconds=5), cap=timedelta(milliseconds=20))


class RunningWorker:
    """A worker under test, and every signal it has announced."""

    def __init__(self, worker: Worker, announced: list[Signal]) -> None:
        self.worker = worker
        self.announced = announced
        self.is_stopping = False

    def stop(self) -> None:
        """Stop it, as SIGTERM does."""
        self.is_stopping = True
        self.worker.stop()

    def signals(self, kind: type) -> list[Any]:
        """The signals of one kind so far."""
        return [signal for signal in self.announced if isinstance(signal, kind)]

    async def wait_for(self, kind: type) -> Any:
        """The first signal of a kind, once it was announced."""
        await until(lambda: bool(self.signals(kind)))
        return self.signals(kind)[0]


def registry(handlers: Mapping[str, Handler] = HANDLERS) -> Registry:
    """The sample's definitions, or others."""
    made = Registry()
    for key, handler in handlers.items():
        made.add(Spec(key=key, hooks=tuple(handler.hooks)))
    return made


@asynccontextmanager
async def run_worker(
    store: Store,
    *,
    slots: int = 4,
    buffer: int | None = 0,
    lease: float = 30,
    shutdown: float = 20,
    announced: list[Signal] | None = None,
    target: str = TARGET,
    folder: Path = ROOT,
    handlers: Mapping[str, Handler] = HANDLERS,
    metrics: WorkerMetrics | None = None,
    spans: Spans | None = None,
    triggers: Triggers | None = None,
    sweep: float = 30,
    heartbeat: float | None = None,
    name: str | None = None,
) -> AsyncIterator[RunningWorker]:
    """A worker that runs while the context lasts, and then stops in order."""
    config = WorkerConfig(
        worker=name or f"worker-{secrets.token_hex(4)}",
        lines=tuple(Line("default", key) for key in handlers),
        slots=slots,
        buffer=buffer,
        lease=timedelta(seconds=lease),
        shutdown=timedelta(seconds=shutdown),
        sweep=timedelta(seconds=sweep),
        heartbeat=None if heartbeat is None else timedelta(seconds=heartbeat),
    )
    announced = [] if announced is None else announced
    given = {} if spans is None else {tracing.VARIABLE: "otlp"}
    lanes = Lanes(target, folder=folder, environment=ChildEnvironment(os.environ, set_here=given))
    await lanes.start()
    await save_definitions(store, registry(handlers).specs(), config.worker)
    traces = None if spans is None else AttemptSpans(spans, store)
    worker = _worker(store, lanes, config, handlers, announced, metrics, traces, triggers)
    task = asyncio.create_task(worker.run())
    running = RunningWorker(worker, announced)
    try:
        yield running
    finally:
        if not running.is_stopping:
            running.stop()
        try:
            async with asyncio.timeout(PATIENCE):
                await task
        finally:
            await lanes.close()


def _worker(
    store: Store,
    lanes: Lanes,
    config: WorkerConfig,
    handlers: Mapping[str, Handler],
    announced: list[Signal],
    metrics: WorkerMetrics | None,
    traces: AttemptSpans | None,
    triggers: Triggers | None,
) -> Worker:
    info = WorkerInfo(
        id=config.worker, host="here", pid=os.getpid(), version="0", slots=config.slots, lines=config.lines
    )
    on_signal = to_all(*(each for each in (traces, metrics) if each is not None), announced.append)
    measured = store if metrics is None else metrics.on(store)
    traced = lanes if traces is None else traces.on(lanes)
    worker = Worker(measured, traced, info, registry(handlers), config, on_signal, triggers=triggers)
    if metrics is not None:
        metrics.watch(worker, lanes)
    return worker


async def enqueue(store: Store, definition: str, params: Any = None, **options: Any) -> UUID:
    """One job with quick retries; its params hold a secret, too."""
    policy = Policy(
        **{"max_attempts": 3, "retry": QUICK, "grace": timedelta(seconds=5), **options.pop("policy", {})}
    )
    [made] = await store.enqueue(
        [
            NewJob(
                definition=definition,
                params=write({"password": canaries.PARAM, **(params or {})}),
                policy=policy,
                **options,
            )
        ]
    )
    return made.id


async def reach(store: Store, job: UUID, *states: State, within: float = PATIENCE) -> Job:
    """The job, once it is in one of the states."""
    async with asyncio.timeout(within), store.listen(endings=True) as wakeups:
        while True:
            found = await store.get(job)
            assert found is not None
            if found.state in states:
                return found
            await wakeups.wait(0.05)


async def appear(path: Path) -> str:
    """What a file holds, once there is something in it."""
    return await until(lambda: _text(path))


async def vanish(pid: int) -> None:
    """Wait until a process is gone."""
    await until(lambda: not is_alive(pid))


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def written(path: Path) -> list[Any]:
    """The lines that hooks have written."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def states(jobs: Iterable[Job]) -> list[State]:
    return [job.state for job in jobs]
