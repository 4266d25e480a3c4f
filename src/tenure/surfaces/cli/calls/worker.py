"""`tenure worker APP`: runs jobs until a signal stops it."""

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


@click.command(cls=WordedCommand, short_help="Run the jobs of APP, given as module:attribute.")
@click.argument("app")
@click.option(
    "--database", metavar="URL", help="Database of the jobs; default: TENURE_DATABASE, else the app's own."
)
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
    "--transport",
    help="What leads it to jobs: database, or sqs for messages as well.",
    metavar="NAME",
)
@click.option("--sqs-queue-url", help="The queue of the messages, for --transport sqs.", metavar="URL")
@click.option("--sweep-seconds", help="How often it looks for jobs that no message has named.", metavar="S")
@click.option("--shutdown-seconds", help="How long jobs may take to finish after a signal.", metavar="S")
@click.option("--logs", is_flag=True, help="Show the lines that jobs write, as they come.")
@click.option(
    "--reload", "reloads", is_flag=True, help="Start anew with each change of the code: for development."
)
def worker(app: str, logs: bool, reloads: bool, **given: str | None) -> None:
    """Run the jobs of APP, given as module:attribute, each in the lane of its definition.

    At its start it prints how attempts are isolated: each in a fresh process, unless a definition says
    otherwise.

    The first SIGTERM or SIGINT lets jobs finish, for up to --shutdown-seconds, and hands back the rest; a
    second one hands all of them back at once.

    With --reload it follows the .py files below the current folder: after a change, jobs that run end with
    the code they began with, and the next ones run with the new code. As long as that cannot be imported, no
    job is claimed.

    With --transport sqs, messages in an SQS queue lead it to jobs, which it claims by their ids; every
    --sweep-seconds it looks for the others. `tenure api` and `tenure serve` send them if TENURE_TRANSPORT and
    TENURE_SQS_QUEUE_URL are set.
    """
    require_linux("worker")
    loaded = load(given)
    if given["sqs_queue_url"] and loaded.settings.transport == "database":
        problem = "is database, so that nothing is received from the queue that is given"
        raise InvalidInput("transport", problem, "give --transport sqs as well, or leave --sqs-queue-url out")
    with log_output(loaded.settings) as log:
        code = run(_work(app, loaded, log, logs=logs, reloads=reloads))
    if code:
        sys.exit(code)


async def _work(app: str, loaded: Loaded, log: EventLog, *, logs: bool, reloads: bool) -> int:
    # Not at the top: most commands need neither lanes nor telemetry.
    from tenure.assemble.generation import WorkerOptions
    from tenure.assemble.worker import open_lone_worker

    options = WorkerOptions(shows_lines=logs, reloads=reloads)
    async with open_lone_worker(app, loaded, log, options) as worker:
        return await run_until_signal(worker, ServiceManager(os.environ), worker)
