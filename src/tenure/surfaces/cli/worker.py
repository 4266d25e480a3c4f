"""`tenure worker APP`: run jobs until told to stop."""

import asyncio
import os
import sys

import click

from tenure.engine.worker import Worker
from tenure.sources import Loaded, load
from tenure.surfaces.cli.notifying import Manager, keep_told
from tenure.surfaces.cli.running import FORCED, on_signals, run
from tenure.surfaces.cli.speaking import speaking
from tenure.surfaces.cli.system import require_linux
from tenure.surfaces.cli.tracing import exported
from tenure.surfaces.cli.workplace import workplace
from tenure.telemetry.logs import Logs


@click.command()
@click.argument("app")
@click.option(
    "--database", metavar="URL", help="Where the jobs are; else TENURE_DATABASE, else the app's own."
)
@click.option("--slots", help="How many jobs to run at once in processes of their own.", metavar="N")
@click.option("--queues", help="Serve these queues only, with commas between them.", metavar="NAMES")
@click.option("--metrics-port", help="Offer what the worker counts to Prometheus there.", metavar="N")
@click.option("--lease-seconds", help="How long a job is ours without a sign of life.", metavar="S")
@click.option("--shutdown-seconds", help="How long to wait for what runs when told to stop.", metavar="S")
def worker(app: str, **given: str | None) -> None:
    """Run the jobs of APP, written module:attribute, each in the lane of its definition.

    At the start it says how attempts are kept apart: a fresh process for each, unless a definition says
    otherwise.

    The first SIGTERM or SIGINT lets what runs come to its end, for as long as --shutdown-seconds says, and
    hands back the rest; a second one does that at once.
    """
    require_linux("worker")
    loaded = load(given)
    with speaking(loaded.settings) as logs:
        code = run(_work(app, loaded, logs))
    if code:
        sys.exit(code)


async def _work(app: str, loaded: Loaded, logs: Logs) -> int:
    async with (
        exported(loaded.settings, logs.notice) as spans,
        workplace(app, loaded, logs, spans=spans) as place,
    ):
        return await _until_told(place.worker)


async def _until_told(hired: Worker) -> int:
    manager = Manager(os.environ)
    told = 0

    def stop(name: str) -> None:
        nonlocal told
        told += 1
        manager.tell("STOPPING=1")
        hired.stop(f"told by {name}")

    on_signals(stop)
    telling = asyncio.create_task(keep_told(manager, hired))
    try:
        await hired.run()
    finally:
        telling.cancel()
    return FORCED if told > 1 else 0


def _tell(text: str) -> None:
    click.echo(text, err=True)
