"""The root of the command line, and how every command ends: its exit code, and one line when it failed.

Before that line stand those of the user's app, where it is the app that failed.
"""

import io
import os
import sys
import traceback
from pathlib import PurePath
from typing import Any

import click

from tenure.core.errors import InvalidInput, SchemaMismatch, StoreError, TenureError
from tenure.core.text import plain
from tenure.core.urls import masked_in
from tenure.execution.handler import AppFailed
from tenure.surfaces.cli.api import api
from tenure.surfaces.cli.definitions import definitions
from tenure.surfaces.cli.demo import demo
from tenure.surfaces.cli.enqueue import enqueue
from tenure.surfaces.cli.jobs import jobs
from tenure.surfaces.cli.keys import audit, keys
from tenure.surfaces.cli.migrate import migrate
from tenure.surfaces.cli.serve import serve
from tenure.surfaces.cli.worker import worker
from tenure.surfaces.cli.workers import workers
from tenure.version import __version__

EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInput, 2),
    (AppFailed, 2),
    (SchemaMismatch, 6),
    (StoreError, 3),
    (Exception, 1),
)
"""The first kind that fits counts."""

INTERRUPTED = 130


class Commands(click.Group):
    """A group whose commands end in an exit code and at most one line, never in a traceback of ours."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command as click does, which sees to usage, help and closed pipes, and say what it cannot."""
        try:
            return super().main(*args, **extra)
        except Exception as error:
            if isinstance(error, OSError):
                _drop_output()
            for line in _trace_of_app(error):
                click.echo(plain(masked_in(line)), err=True)
            click.echo(f"Error: {plain(masked_in(_said(error)))}", err=True)
            sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; Ctrl-C ends it without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="tenure", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Tenure: background jobs that are never lost once accepted."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal's encoding lacks is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")


commands.add_command(definitions)
commands.add_command(api)
commands.add_command(demo)
commands.add_command(enqueue)
commands.add_command(jobs)
commands.add_command(keys)
commands.add_command(audit)
commands.add_command(migrate)
commands.add_command(serve)
commands.add_command(worker)
commands.add_command(workers)


def _said(error: Exception) -> str:
    if isinstance(error, TenureError | OSError):
        return " ".join(str(error).split())
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"unexpected {error!r} in {PurePath(frame.filename).name}, line {frame.lineno}; please report it"


def _trace_of_app(error: Exception) -> list[str]:
    trace = error.error.traceback if isinstance(error, AppFailed) else None
    return trace.splitlines() if trace else []


def _drop_output() -> None:
    """Forget what standard output did not take, or Python would try, and complain, once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
