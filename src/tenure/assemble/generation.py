"""A worker and the lanes of the code that it runs; with `--reload` there is one for each change of it."""

import os
import socket
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from tenure.assemble.client import client_on
from tenure.assemble.handler_databases import require_handler_databases
from tenure.assemble.handler_variables import handler_variables
from tenure.assemble.messages import Messages
from tenure.assemble.observed_lanes import ObservedLanes
from tenure.core.reports.operations import WorkerInfo
from tenure.core.signals import Announce, Troubled, to_all
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Manifest, Registry
from tenure.engine.config import WorkerConfig, new_worker_name, served_lines
from tenure.engine.schedules.announcement import announce_all
from tenure.engine.upkeep.duties import OnOutlook, ignore_outlook
from tenure.engine.worker.named_claims import Triggers
from tenure.engine.worker.slot_groups import slot_groups
from tenure.engine.worker.worker import Worker
from tenure.execution.lanes import Lanes, LaneSet
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.parent.scratch import place_in
from tenure.execution.protocol import kernel
from tenure.execution.protocol.messages import OWN
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tenure.telemetry.logs.logs import EventLog
from tenure.telemetry.metrics.worker_metrics import WorkerMetrics
from tenure.telemetry.traces.attempt_spans import AttemptSpans
from tenure.telemetry.traces.spans import Spans
from tenure.version import __version__


class WorkerOptions(Struct, frozen=True, kw_only=True):
    """What a command asks of its worker: to show the lines of jobs, to follow changes of the code."""

    shows_lines: bool = False
    reloads: bool = False


class Generation(NamedTuple):
    """A worker, the lanes of the code that it runs, and its definitions."""

    worker: Worker
    lanes: Lanes
    registry: Registry


class ImportedApp(NamedTuple):
    """An app in its zygote, and what it says of itself."""

    lanes: Lanes
    manifest: Manifest


class Generations:
    """Opens the generations of one app, all with the same settings, logs, metrics and spans."""

    def __init__(
        self,
        app: str,
        settings: Settings,
        logs: EventLog,
        options: WorkerOptions,
        metrics: WorkerMetrics | None,
        spans: Spans | None,
    ) -> None:
        self._app = app
        self._settings = settings
        self._logs = logs
        self._options = options
        self._metrics = metrics
        self._spans = spans
        self.on_outlook: OnOutlook = ignore_outlook
        """Hears what the duties of its workers see."""
        self.database = settings.database
        """Where the jobs are."""
        self.messages: Messages | None = None
        """What leads its workers to jobs, if it is not the database alone."""
        self._guards = OrphanGuards.adopting(on_left=lambda left: logs(Troubled("guards", left, 1)))
        self.user = _child_user(settings)
        self.environment = handler_variables(
            settings, [settings.database], self.user, reloads=options.reloads
        )

    async def import_app(self) -> ImportedApp:
        """Import the app in a zygote of its own. Raises AppFailed."""
        settings = self._settings
        lanes = Lanes(
            self._app,
            environment=self.environment,
            guards=self._guards,
            user=self.user,
            keeps_signals=settings.child_signals == OWN and kernel.can_keep_signals(),
        )
        try:
            return ImportedApp(lanes, Manifest.read(await lanes.start()))
        except BaseException:
            await lanes.close()
            raise

    async def open(self, imported: ImportedApp, store: Store) -> Generation:
        """Build a worker for an imported app, and register its definitions and schedules."""
        try:
            registry = imported.manifest.registry()
            await require_handler_databases(registry.specs(), self.database, self.environment)
            name = new_worker_name()
            worker = self._observed_worker(store, imported.lanes, registry, name)
            for changed in await save_definitions(store, registry.specs(), name):
                self._logs.notice(changed)
            schedules = client_on(store, registry).schedules
            for told in await announce_all(schedules, imported.manifest.schedules, by=name):
                self._logs.notice(told)
            return Generation(worker, imported.lanes, registry)
        except BaseException:
            await imported.lanes.close()
            raise

    def _observed_worker(self, store: Store, lanes: Lanes, registry: Registry, name: str) -> Worker:
        observed: LaneSet = lanes
        listeners: list[Announce] = []
        measured = store
        if self._metrics is not None:
            measured = self._metrics.on(store)
            listeners.append(self._metrics)
        if self._spans is not None:
            attempts = AttemptSpans(self._spans, store)
            observed = attempts.on(lanes)
            listeners.append(attempts)
        if self._options.shows_lines:
            observed = ObservedLanes(observed, on_line=self._logs.line)
        announce = to_all(*listeners, self._logs)
        return build_worker(
            *(measured, observed, registry, announce),
            worker=name,
            settings=self._settings,
            on_outlook=self.on_outlook,
            triggers=None if self.messages is None else self.messages.inbox(self._settings, name),
        )


def build_worker(
    store: Store,
    lanes: LaneSet,
    registry: Registry,
    announce: Announce,
    *,
    worker: str,
    settings: Settings,
    on_outlook: OnOutlook = ignore_outlook,
    triggers: Triggers | None = None,
) -> Worker:
    """A worker that serves these definitions as the settings say; `triggers` lead it to jobs."""
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
    return Worker(store, lanes, info, registry, config, announce, on_outlook, triggers)


def _child_user(settings: Settings) -> ChildUser | None:
    """The children's user, if it is not the worker's own; raises InvalidInput if it cannot be used."""
    if not settings.child_user:
        return None
    user = ChildUser.named(settings.child_user)
    user.check([Path.cwd(), place_in(os.environ)])
    return user
