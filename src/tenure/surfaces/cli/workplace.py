"""What stands around a worker while it works: its processes, its store, and its definitions on record."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from tenure.core.signals import Announce, Troubled, to_all
from tenure.core.urls import masked
from tenure.engine.hiring import hire, new_name
from tenure.engine.lane import Lanes as AnyLanes
from tenure.engine.manner import usual_limits
from tenure.engine.registering import register
from tenure.engine.registry import Manifest, Registry
from tenure.engine.worker import Worker
from tenure.execution import kernel, tracing
from tenure.execution.guards import Guards
from tenure.execution.lanes import Lanes
from tenure.execution.limits import MORE_ALLOWED
from tenure.execution.protocol import OWN
from tenure.execution.scratch import place_in
from tenure.execution.user import User
from tenure.settings import Settings
from tenure.sources import FILE, FILE_VARIABLE, Loaded
from tenure.storage.address import open_store
from tenure.storage.contract import Store
from tenure.surfaces.cli.hiding import shown_to_all
from tenure.surfaces.cli.isolation import OPEN_TO_SIGNALS, SHOWN, isolation, limits
from tenure.surfaces.http import metrics as scraped
from tenure.telemetry.attempts import AttemptSpans
from tenure.telemetry.lag import watched
from tenure.telemetry.logs import Logs
from tenure.telemetry.spans import Spans
from tenure.telemetry.worker import WorkerMetrics


class Workplace(NamedTuple):
    """A worker that is ready to run, the store that it works on, and the address of that."""

    worker: Worker
    store: Store
    database: str


@asynccontextmanager
async def workplace(
    app: str,
    loaded: Loaded,
    logs: Logs,
    metrics: WorkerMetrics | None = None,
    spans: Spans | None = None,
) -> AsyncIterator[Workplace]:
    """A place for a worker that serves an app; its log begins with what it serves, and how.

    What it does is counted in `metrics`, or in some of its own where the settings name a port for them. Its
    attempts are `spans`, should there be somebody who takes them.
    """
    settings = loaded.settings
    async with AsyncExitStack() as ends:
        listening = None
        if settings.metrics_port is not None:
            listening = ends.enter_context(scraped.listen(settings.metrics_host, settings.metrics_port))
            metrics = metrics or WorkerMetrics()
        guards = Guards.adopting(give_up=lambda left: logs(Troubled("guards", left, 1)))
        user = _child_user(settings)
        lanes = Lanes(
            app,
            environment=_environment(settings, user),
            guards=guards,
            user=user,
            keeps_signals=settings.child_signals == OWN and kernel.can_keep_signals(),
        )
        ends.push_async_callback(lanes.close)
        manifest = Manifest.read(await lanes.start())
        registry = manifest.registry()
        database = settings.database
        if "database" not in loaded.sources and manifest.database is not None:
            database = manifest.database
        store = await open_store(database)
        ends.push_async_callback(store.close)
        name = new_name()
        hired = _hired(store, lanes, registry, logs, name, settings, metrics, spans)
        for changed in await register(store, registry.specs(), name):
            logs.notice(f"{changed} was registered before and says something else now")
        logs.notice(f"{app} on {masked(database)}")
        is_root = os.geteuid() == 0 and user is None
        for line in isolation(registry.specs(), is_root=is_root, user=user.name if user else None):
            logs.notice(line)
        if settings.child_signals == OWN and not kernel.can_keep_signals():
            logs.notice(OPEN_TO_SIGNALS)
        logs.notice(limits(usual_limits(settings)))
        if shown_to_all():
            logs.notice(SHOWN)
        if lanes.notice:
            logs.notice(lanes.notice)
        if metrics is not None:
            ends.enter_context(watched(metrics.lag))
        if metrics is not None and listening is not None:
            await ends.enter_async_context(scraped.port(listening, store, metrics, logs))
        yield Workplace(hired, store, database)


def _hired(
    store: Store,
    lanes: Lanes,
    registry: Registry,
    logs: Logs,
    name: str,
    settings: Settings,
    metrics: WorkerMetrics | None,
    spans: Spans | None,
) -> Worker:
    measured = store
    traced: AnyLanes = lanes
    heard: list[Announce] = []
    if metrics is not None:
        measured = metrics.on(store)
        heard.append(metrics)
    if spans is not None:
        attempts = AttemptSpans(spans, store)
        traced = attempts.on(lanes)
        heard.append(attempts)
    hired = hire(measured, traced, registry, to_all(*heard, logs), worker=name, settings=settings)
    if metrics is not None:
        metrics.watch(hired, lanes)
    return hired


def _child_user(settings: Settings) -> User | None:
    """Whose the children are, if not the worker's own; raises InvalidInput where they cannot be."""
    if not settings.child_user:
        return None
    user = User.named(settings.child_user)
    user.check([Path.cwd(), place_in(os.environ)])
    return user


def _environment(settings: Settings, user: User | None) -> dict[str, str]:
    """Of what children are given: the worker's own, and what the settings say of definitions and of names."""
    given = settings.for_definitions()
    if user is not None:
        given["HOME"] = user.home
        if Path(FILE).exists() and user.closed([Path(FILE).absolute()]):
            given[FILE_VARIABLE] = os.devnull  # it holds what is not for them, and nothing that they need
    if settings.tracing != "off":
        given[tracing.VARIABLE] = settings.tracing
    names = ",".join([*settings.child_env, *given])
    return {**os.environ, **given, MORE_ALLOWED: names}
