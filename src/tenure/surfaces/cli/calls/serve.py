"""`tenure serve [APP]`: HTTP, a worker and the duties in one process, until a signal stops them."""

import os
import sys

import click

from tenure.core.errors import InvalidInput
from tenure.settings.sources import Loaded, load
from tenure.surfaces.cli.other_commands import WordedCommand
from tenure.surfaces.cli.process.event_loop import run, run_until_signal
from tenure.surfaces.cli.process.linux import require_linux
from tenure.surfaces.cli.process.log_output import log_output
from tenure.surfaces.cli.process.systemd import ServiceManager
from tenure.telemetry.logs.logs import EventLog


@click.command(cls=WordedCommand, short_help="Serve HTTP and run the jobs of APP, in one process.")
@click.argument("app", required=False)
@click.option(
    "--database", metavar="URL", help="Database of the jobs; default: TENURE_DATABASE, else the app's own."
)
@click.option("--host", metavar="NAME", help="Where to listen; default: 127.0.0.1. Others need keys.")
@click.option("--port", metavar="N", help="Port to listen on; default: 8000. 0 takes any free one.")
@click.option("--slots", help="How many jobs to run at once in processes of their own.", metavar="N")
@click.option("--queues", help="Serve only these queues, separated by commas.", metavar="NAMES")
@click.option(
    "--metrics-port",
    help="Port for the worker's metrics and health: /metrics, /healthz, /readyz.",
    metavar="N",
)
@click.option(
    "--lease-seconds", help="How long without a heartbeat before others take its jobs.", metavar="S"
)
@click.option(
    "--shutdown-seconds", metavar="S", help="How long requests and jobs may take to finish after a signal."
)
@click.option("--logs", is_flag=True, help="Show the lines that jobs write, as they come.")
@click.option(
    "--reload", "reloads", is_flag=True, help="Start anew with each change of the code: for development."
)
def serve(app: str | None, logs: bool, reloads: bool, **given: str | None) -> None:
    """Serve HTTP and run the jobs of APP, given as module:attribute: all of Tenure in one command.

    Without APP it runs no jobs: it serves HTTP, queues due jobs, and takes back those of lost workers.

    The first SIGTERM or SIGINT refuses new requests and lets open ones finish; then the worker claims no more
    jobs and finishes those it runs. After --shutdown-seconds, jobs that still run are killed and handed back;
    a second signal does that at once. If the server or the worker fails, both end. A drained worker claims no
    more jobs, and everything else goes on.

    With --reload the worker follows the .py files below the current folder, as that of `tenure worker` does.
    """
    if app is not None:
        require_linux("serve")
    elif logs or reloads:
        option = "--logs" if logs else "--reload"
        raise InvalidInput(
            option, "is about the jobs of an app, and no app is given", "give one, as module:attribute"
        )
    loaded = load(given)
    with log_output(loaded.settings) as log:
        code = run(_serve(app, loaded, log, logs=logs, reloads=reloads))
    if code:
        sys.exit(code)


async def _serve(app: str | None, loaded: Loaded, log: EventLog, *, logs: bool, reloads: bool) -> int:
    # Not at the top: most commands need neither an HTTP server nor lanes.
    from tenure.assemble.generation import WorkerOptions
    from tenure.assemble.serve import open_serve

    manager = ServiceManager(os.environ)

    def on_early_end(notice: str) -> None:
        manager.notify("STOPPING=1")
        log.notice(notice)

    options = WorkerOptions(shows_lines=logs, reloads=reloads)
    async with open_serve(app, loaded, log, on_early_end, options) as both:
        return await run_until_signal(both, manager, both)
