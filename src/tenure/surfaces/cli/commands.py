"""The root of the command line: each command by its module, and one line of error for one that failed.

If the user's app failed, its own traceback comes before that line.
"""

import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import PurePath
from typing import Any

import click

from tenure.core.errors import TenureError
from tenure.core.values.text import plain
from tenure.core.values.urls import masked_in
from tenure.execution.handler.handler import AppFailed
from tenure.surfaces.cli.exit_codes import EXIT_CODES, INTERRUPTED
from tenure.surfaces.cli.other_commands import WordedGroup
from tenure.version import __version__

PLACES = {
    "api": "calls.api",
    "audit": "calls.keys",
    "definitions": "calls.definitions",
    "demo": "demo.demo",
    "doctor": "calls.doctor",
    "enqueue": "calls.enqueue",
    "jobs": "calls.jobs",
    "keys": "calls.keys",
    "limits": "calls.limits",
    "migrate": "calls.migrate",
    "queues": "calls.queues",
    "retention": "calls.retention",
    "scheduler": "schedules.scheduler",
    "schedules": "schedules.commands",
    "serve": "calls.serve",
    "webhooks": "webhooks.commands",
    "worker": "calls.worker",
    "workers": "calls.workers",
}
"""The module of each command. It is imported when the command is asked for: a process runs one of them."""


class Imported(Mapping[str, click.Command]):
    """The commands by name, each imported when it is first asked for."""

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = getattr(import_module(f"{__package__}.{PLACES[name]}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


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


@click.group("tenure", cls=Commands, commands=Imported())
@click.version_option(__version__, prog_name="tenure", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Tenure: background jobs that are never lost once accepted."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks must not fail a command.
        sys.stdout.reconfigure(errors="backslashreplace")


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
