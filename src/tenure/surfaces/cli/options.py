"""Options and arguments that several commands share, and how their values are read."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tenure.api import inputs
from tenure.core.errors import InvalidInput, InvalidJson
from tenure.core.values.document_faults import LARGEST_DOCUMENT
from tenure.core.values.documents import Document, check
from tenure.surfaces.cli import job_ids

Reader = Callable[[str], object]
Callback = Callable[[click.Context, click.Parameter, Any], Any]


def read_by(reader: Reader) -> Callback:
    """A callback that reads values with `reader`; a value that it refuses is reported as wrong usage."""

    def read(ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        try:
            if isinstance(given, tuple):
                return tuple(reader(one) for one in given)
            return None if given is None else reader(given)
        except InvalidInput as error:
            text = f"{error.problem}; {error.remedy}" if error.remedy else error.problem
            raise click.BadParameter(text, ctx, param) from None

    return read


job_argument = click.argument("job", metavar="ID", callback=read_by(job_ids.read))
jobs_argument = click.argument(
    "jobs", metavar="ID...", nargs=-1, required=True, callback=read_by(job_ids.read)
)

key_argument = click.argument("key", metavar="KEY")
version_option = click.option(
    "--version", type=int, metavar="N", help="Version of the definition; default: the newest."
)


def moment_option(name: str, text: str) -> Callable[[Any], Any]:
    """An option that is a point in time."""
    return click.option(name, metavar="TIME", callback=read_by(inputs.moment), help=text)


until_option = click.option(
    "--until",
    metavar="TIME|+DURATION",
    callback=read_by(inputs.end),
    help="When the pause ends by itself, such as 2030-01-31T08:30:00Z or +90m; default: when it is resumed.",
)
reason_option = click.option("--reason", metavar="TEXT", help="Why; shown with the pause.")


def params_option(text: str, default: str | None = None) -> Callable[[Any], Any]:
    """The option for params, which may be given in three ways."""
    return click.option("--params", metavar="JSON|@FILE|-", default=default, help=text)


def read_params(given: str) -> Document:
    """Read params: JSON text, @ and the name of a file, or - for standard input."""
    return read_document("params", given)


def read_document(field: str, given: str) -> Document:
    """Read a document: JSON text, @ and the name of a file, or - for standard input."""
    try:
        return check(_contents(field, given))
    except InvalidJson as error:
        raise InvalidInput(f"{field}{error.pointer}", error.problem, error.remedy) from None


def _contents(field: str, given: str) -> str | bytes:
    if given == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput(
                field, "cannot be read: standard input is a terminal or closed", "pipe the JSON in"
            )
        return sys.stdin.buffer.read(LARGEST_DOCUMENT + 1)
    if not given.startswith("@"):
        return given
    try:
        with Path(given[1:]).open("rb") as file:
            return file.read(LARGEST_DOCUMENT + 1)
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(field, f"cannot be read from {given[1:]!r:.200}: {cause}") from None
