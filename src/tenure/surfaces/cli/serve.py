"""`tenure serve [APP]`: HTTP, a worker and the duties in one process, until told to stop."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

import click

from tenure.core.signals import to_all
from tenure.core.urls import masked
from tenure.engine.caretaker import Caretaker
from tenure.sources import Loaded, load
from tenure.storage.address import open_store
from tenure.storage.contract import Store
from tenure.surfaces.cli.api import client_of, open_to, server_of
from tenure.surfaces.cli.running import run
from tenure.surfaces.cli.speaking import speaking
from tenure.surfaces.cli.system import require_linux
from tenure.surfaces.cli.together import Together, Worker
from tenure.surfaces.cli.tracing import exported
from tenure.surfaces.cli.workplace import workplace
from tenure.surfaces.redaction import Redaction
from tenure.telemetry.api import ApiMetrics
from tenure.telemetry.lag import watched
from tenure.telemetry.logs import Logs
from tenure.telemetry.requests import RequestSpans
from tenure.telemetry.spans import Spans
from tenure.telemetry.worker import WorkerMetrics


class _Place(NamedTuple):
    worker: Worker
    store: Store
    database: str


@click.command()
@click.argument("app", required=False)
@click.option(
    "--database", metavar="URL", help="Where the jobs are; else TENURE_DATABASE, else the app's own."
)
@click.option("--host", metavar="NAME", help="Where to listen: 127.0.0.1 without it. Others need keys.")
@click.option("--port", metavar="N", help="8000 without it; 0 for any that is free.")
@click.option("--slots", help="How many jobs to run at once in processes of their own.", metavar="N")
@click.option("--queues", help="Serve these queues only, with commas between them.", metavar="NAMES")
@click.option("--metrics-port", help="Offer what the worker counts to Prometheus there.", metavar="N")
@click.option("--lease-seconds", help="How long a job is ours without a sign of life.", metavar="S")
@click.option(
    "--shutdown-seconds", metavar="S", help="How long requests and jobs may take to finish when told to stop."
)
def serve(app: str | None, **given: str | None) -> None:
    """Serve HTTP and run the jobs of APP, written module:attribute: the whole of Tenure in one command.

    Without APP no job is run: it serves HTTP, queues what is due and takes back what lost workers had.

    The first SIGTERM or SIGINT closes the door for requests and lets those under way finish; then nothing
    more is claimed, and what runs comes to its end. What has not ended when --shutdown-seconds have passed
    is killed and handed back; a second signal does that at once. Should one of the parts fail, all of it
    ends. A worker that is drained claims no more, and all else goes on.
    """
    if app is not None:
        require_linux("serve")
    loaded = load(given)
    with speaking(loaded.settings) as logs:
        code = run(_serve(app, loaded, logs))
    if code:
        sys.exit(code)


async def _serve(app: str | None, loaded: Loaded, logs: Logs) -> int:
    from tenure.surfaces.http.desk import Desk
    from tenure.surfaces.http.server import listen

    settings = loaded.settings
    async with AsyncExitStack() as ends:
        metrics, counted = ApiMetrics(), WorkerMetrics()
        spans = await ends.enter_async_context(exported(settings, logs.notice, metrics.external.called))
        place = await ends.enter_async_context(
            _alone(loaded, logs, counted) if app is None else _staffed(app, loaded, logs, counted, spans)
        )
        is_locked = (await place.store.find_keys([])).is_locked
        listening = ends.enter_context(listen(settings.host, settings.port, is_locked=is_locked))
        client = client_of(place.store, metrics, settings)
        ends.push_async_callback(client.close)
        ends.enter_context(watched(metrics.lag))
        desk = Desk(
            place.store,
            client,
            Redaction(settings.redact),
            is_ready=lambda: place.worker.is_ready,
            metrics=metrics,
            worker_metrics=counted,
            spans=None if spans is None else RequestSpans(spans),
            logs=logs,
        )
        server = server_of(desk, listening, settings, logs)
        logs.notice(f"{server.url} on {masked(place.database)}, {await open_to(place.store)}")
        return await Together(server, place.worker, settings.shutdown_seconds, logs.notice).run()


@asynccontextmanager
async def _staffed(
    app: str, loaded: Loaded, logs: Logs, metrics: WorkerMetrics, spans: Spans | None
) -> AsyncIterator[_Place]:
    async with workplace(app, loaded, logs, metrics, spans) as place:
        place.worker.stay()
        yield _Place(*place)


@asynccontextmanager
async def _alone(loaded: Loaded, logs: Logs, metrics: WorkerMetrics) -> AsyncIterator[_Place]:
    settings = loaded.settings
    store = await open_store(settings.database)
    try:
        logs.notice("no app was named: requests and duties are served, and no job is run")
        caretaker = Caretaker(metrics.on(store), settings, to_all(metrics, logs))
        yield _Place(caretaker, store, settings.database)
    finally:
        await store.close()
