"""A worker at work in this process, its attempts in processes of their own, and how to say what is due."""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from tenure.core.documents import write
from tenure.core.job import Job, NewJob
from tenure.core.lease import Line
from tenure.core.operations import Worker as Introduction
from tenure.core.policy import Policy, RetryPolicy
from tenure.core.signals import Signal, to_all
from tenure.core.spec import Spec
from tenure.core.states import State
from tenure.engine.manner import Manner
from tenure.engine.registering import register
from tenure.engine.registry import Registry
from tenure.engine.worker import Worker
from tenure.execution import tracing
from tenure.execution.handler import Handler
from tenure.execution.lanes import Lanes
from tenure.execution.limits import MORE_ALLOWED
from tenure.storage.contract import Store
from tenure.telemetry.attempts import AttemptSpans
from tenure.telemetry.spans import Spans
from tenure.telemetry.worker import WorkerMetrics
from tests import canaries
from tests.worker.sample import HANDLERS

TARGET = "tests.worker.sample:app"
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds after which what should come is taken never to come."""

QUICK = RetryPolicy(base=timedelta(milliseconds=5), cap=timedelta(milliseconds=20))


class Employed:
    """A worker under test, and every signal it has given."""

    def __init__(self, worker: Worker, heard: list[Signal]) -> None:
        self.worker = worker
        self.heard = heard
        self.is_told = False

    def stop(self) -> None:
        """Tell it to stop, as a signal does."""
        self.is_told = True
        self.worker.stop()

    def told(self, kind: type) -> list[Any]:
        """The signals of one kind so far."""
        return [signal for signal in self.heard if isinstance(signal, kind)]

    async def hears(self, kind: type) -> Any:
        """The first signal of a kind, once it was given."""
        await until(lambda: bool(self.told(kind)))
        return self.told(kind)[0]


def registry(handlers: Mapping[str, Handler] = HANDLERS) -> Registry:
    """The sample's definitions, or others."""
    made = Registry()
    for key, handler in handlers.items():
        made.add(Spec(key=key, hooks=tuple(handler.hooks)))
    return made


@asynccontextmanager
async def employ(
    store: Store,
    *,
    slots: int = 4,
    buffer: int | None = 0,
    lease: float = 30,
    shutdown: float = 20,
    heard: list[Signal] | None = None,
    target: str = TARGET,
    folder: Path = ROOT,
    handlers: Mapping[str, Handler] = HANDLERS,
    metrics: WorkerMetrics | None = None,
    spans: Spans | None = None,
) -> AsyncIterator[Employed]:
    """A worker that works while the context lasts, and then stops in good order."""
    name = f"worker-{secrets.token_hex(4)}"
    lines = tuple(Line("default", key) for key in handlers)
    heard = [] if heard is None else heard
    given = {} if spans is None else {tracing.VARIABLE: "otlp", MORE_ALLOWED: tracing.VARIABLE}
    lanes = Lanes(target, folder=folder, environment={**os.environ, **given})
    await lanes.start()
    traces = None if spans is None else AttemptSpans(spans, store)
    manner = Manner(
        worker=name,
        lines=lines,
        slots=slots,
        buffer=buffer,
        lease=timedelta(seconds=lease),
        shutdown=timedelta(seconds=shutdown),
    )
    await register(store, registry(handlers).specs(), name)
    introduction = Introduction(id=name, host="here", pid=os.getpid(), version="0", slots=slots, lines=lines)
    announce = to_all(*(each for each in (traces, metrics) if each is not None), heard.append)
    measured = store if metrics is None else metrics.on(store)
    traced = lanes if traces is None else traces.on(lanes)
    worker = Worker(measured, traced, introduction, registry(handlers), manner, announce)
    if metrics is not None:
        metrics.watch(worker, lanes)
    task = asyncio.create_task(worker.run())
    employed = Employed(worker, heard)
    try:
        yield employed
    finally:
        if not employed.is_told:
            employed.stop()
        try:
            async with asyncio.timeout(PATIENCE):
                await task
        finally:
            await lanes.close()


async def enqueue(store: Store, definition: str, params: Any = None, **asked: Any) -> UUID:
    """One job with quick retries; its params hold a secret, too."""
    policy = Policy(
        **{"max_attempts": 3, "retry": QUICK, "grace": timedelta(seconds=5), **asked.pop("policy", {})}
    )
    [made] = await store.enqueue(
        [
            NewJob(
                definition=definition,
                params=write({"password": canaries.PARAM, **(params or {})}),
                policy=policy,
                **asked,
            )
        ]
    )
    return made.id


async def reach(store: Store, job: UUID, *states: State) -> Job:
    """The job, once it is in one of the states."""
    async with asyncio.timeout(PATIENCE), store.listen(endings=True) as wakeups:
        while True:
            found = await store.get(job)
            assert found is not None
            if found.state in states:
                return found
            await wakeups.wait(0.05)


async def appear(path: Path) -> str:
    """What a file holds, once there is something in it."""
    async with asyncio.timeout(PATIENCE):
        while not (text := _text(path)):  # noqa: ASYNC110  (a file is no event)
            await asyncio.sleep(0.01)
    return text


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something of which nobody tells."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def vanish(pid: int) -> None:
    """Wait until a process is gone."""
    async with asyncio.timeout(PATIENCE):
        while is_alive(pid):  # noqa: ASYNC110  (another process's end is no event of ours)
            await asyncio.sleep(0.01)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def written(path: Path) -> list[Any]:
    """The lines that hooks have left."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def states(jobs: Iterable[Job]) -> list[State]:
    return [job.state for job in jobs]
