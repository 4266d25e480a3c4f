"""`tenure api`: serves HTTP until a signal stops it."""

import os
import sys

import click

from tenure.settings.settings import Settings
from tenure.settings.sources import load
from tenure.surfaces.cli.process.event_loop import run, run_until_signal
from tenure.surfaces.cli.process.log_output import log_output
from tenure.surfaces.cli.process.systemd import ServiceManager
from tenure.telemetry.logs.logs import EventLog


@click.command()
@click.option(
    "--database", metavar="URL", help="Database of the jobs; default: TENURE_DATABASE, else tenure.toml."
)
@click.option("--host", metavar="NAME", help="Where to listen; default: 127.0.0.1. Others need keys.")
@click.option("--port", metavar="N", help="Port to listen on; default: 8000. 0 takes any free one.")
@click.option("--shutdown-seconds", metavar="S", help="How long requests may take to finish after a signal.")
def api(**given: str | None) -> None:
    """Serve the HTTP API, and the dashboard at /.

    It runs no jobs, and all its state is in the database: any number of servers may share it. Without keys
    it is open to all callers, so it listens on this machine's own addresses only; from the first key on,
    every request needs one. `tenure keys create` creates keys.

    The first SIGTERM or SIGINT lets open requests finish, for up to --shutdown-seconds; a second one ends
    them at once.
    """
    settings = load(given).settings
    with log_output(settings) as logs:
        code = run(_serve(settings, logs))
    if code:
        sys.exit(code)


async def _serve(settings: Settings, logs: EventLog) -> int:
    # Not at the top: most commands need no HTTP server.
    from tenure.assemble.server import open_server

    async with open_server(settings, logs) as server:
        return await run_until_signal(server, ServiceManager(os.environ))
