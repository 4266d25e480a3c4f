"""The root of the command line: exit codes, and one line of error for a command that failed.

If the user's app failed, its own traceback comes before that line.
"""

import io
import os
import sys
import traceback
from pathlib import PurePath
from typing import Any

import click

from tenure.core.errors import InvalidInput, SchemaMismatch, StoreError, StoreRestored, TenureError
from tenure.core.values.text import plain
from tenure.core.values.urls import masked_in
from tenure.execution.handler.handler import AppFailed
from tenure.surfaces.cli.calls.api import api
from tenure.surfaces.cli.calls.definitions import definitions
from tenure.surfaces.cli.calls.doctor import doctor
from tenure.surfaces.cli.calls.enqueue import NotInTime, enqueue
from tenure.surfaces.cli.calls.jobs import jobs
from tenure.surfaces.cli.calls.keys import audit, keys
from tenure.surfaces.cli.calls.limits import limits
from tenure.surfaces.cli.calls.migrate import migrate
from tenure.surfaces.cli.calls.queues import queues
from tenure.surfaces.cli.calls.retention import retention
from tenure.surfaces.cli.calls.serve import serve
from tenure.surfaces.cli.calls.worker import worker
from tenure.surfaces.cli.calls.workers import workers
from tenure.surfaces.cli.demo.demo import demo
from tenure.surfaces.cli.other_commands import WordedGroup
from tenure.surfaces.cli.schedules.commands import schedules
from tenure.surfaces.cli.schedules.scheduler import scheduler
from tenure.surfaces.cli.webhooks.commands import webhooks
from tenure.version import __version__

EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInput, 2),
    (AppFailed, 2),
    (SchemaMismatch, 6),
    (StoreRestored, 6),
    (StoreError, 3),
    (NotInTime, 4),
    (Exception, 1),
)
"""The first class that matches decides."""

INTERRUPTED = 130


class Commands(WordedGroup):
    """A group whose commands end in an exit code and at most one line, never in a traceback of ours."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; click handles usage, help and closed pipes, this method every other error."""
        try:
            return super().main(*args, **extra)
        except Exception as error:
            if isinstance(error, OSError):
                _drop_output()
            for line in _trace_of_app(error):
                click.echo(plain(masked_in(line)), err=True)
            click.echo(f"Error: {plain(masked_in(_error_text(error)))}", err=True)
            sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it without a message."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group("tenure", cls=Commands)
@click.version_option(__version__, prog_name="tenure", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Tenure: background jobs that are never lost once accepted."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks must not fail a command.
        sys.stdout.reconfigure(errors="backslashreplace")


commands.add_command(definitions)
commands.add_command(api)
commands.add_command(demo)
commands.add_command(doctor)
commands.add_command(enqueue)
commands.add_command(jobs)
commands.add_command(keys)
commands.add_command(audit)
commands.add_command(limits)
commands.add_command(migrate)
commands.add_command(queues)
commands.add_command(retention)
commands.add_command(scheduler)
commands.add_command(schedules)
commands.add_command(serve)
commands.add_command(webhooks)
commands.add_command(worker)
commands.add_command(workers)


def _error_text(error: Exception) -> str:
    if isinstance(error, TenureError | OSError):
        return " ".join(str(error).split())
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"unexpected {error!r} in {PurePath(frame.filename).name}, line {frame.lineno}; please report it"


def _trace_of_app(error: Exception) -> list[str]:
    trace = error.error.traceback if isinstance(error, AppFailed) else None
    return trace.splitlines() if trace else []


def _drop_output() -> None:
    """Discard unwritten output: Python would try to write it again at exit, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
