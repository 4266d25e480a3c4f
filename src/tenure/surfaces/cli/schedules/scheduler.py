"""`tenure scheduler`: fires schedules and does the other duties of the clock until a signal stops it."""

import os
import sys

import click

from tenure.settings.settings import Settings
from tenure.settings.sources import load
from tenure.surfaces.cli.process.event_loop import run, run_until_signal
from tenure.surfaces.cli.process.log_output import log_output
from tenure.surfaces.cli.process.systemd import ServiceManager
from tenure.telemetry.logs.logs import EventLog


@click.command(short_help="Fire schedules, send webhooks, queue due jobs; run none.")
@click.option(
    "--database", metavar="URL", help="Database of the jobs; default: TENURE_DATABASE, else tenure.toml."
)
@click.option(
    "--metrics-port",
    help="Port for its metrics and health: /metrics, /healthz, /readyz.",
    metavar="N",
)
def scheduler(**given: str | None) -> None:
    """Fire schedules, send webhooks, queue due jobs, and take back those of lost workers. Runs no jobs.

    Every worker and `tenure serve` do this, too: a scheduler is for times at which none of them runs. Any
    number of them may run at once, and each tick fires once.

    The first SIGTERM or SIGINT ends it: what it was doing is done by another process, or when it is back.
    """
    settings = load(given).settings
    with log_output(settings) as logs:
        code = run(_keep(settings, logs))
    if code:
        sys.exit(code)


async def _keep(settings: Settings, logs: EventLog) -> int:
    # Not at the top: most commands need no telemetry.
    from tenure.assemble.scheduler import open_scheduler

    async with open_scheduler(settings, logs) as caretaker:
        return await run_until_signal(caretaker, ServiceManager(os.environ), caretaker)
