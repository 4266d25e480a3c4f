"""What commands print: JSON for programs, tables and plain text for people.

Text from jobs may hold anything. Control characters are escaped, so that no job can forge a line or move the
cursor.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import click
import msgspec

from tenure.core.model.states import State

COLOURS = {
    State.RUNNING: "cyan",
    State.CANCELLING: "yellow",
    State.RETRYING: "yellow",
    State.SUCCEEDED: "green",
    State.FAILED: "red",
    State.BURIED: "red",
    State.CANCELLED: "yellow",
}

LEVEL_COLOURS = {"warning": "yellow", "error": "red", "stderr": "red", "debug": "bright_black"}
"""The colours of log lines, by level."""

_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, as the HTTP API returns it.")


def print_json(value: object) -> None:
    """Print one JSON text: on one line, or indented on a terminal; valid in any encoding."""
    text = msgspec.json.encode(value)
    if is_terminal():
        text = msgspec.json.format(text, indent=2)
    # JSON is ASCII outside of strings, and inside them every character has an escape.
    click.echo(_BEYOND_ASCII.sub(_escaped, text.decode()))


def moment(at: datetime | None) -> str:
    """A time for people to read, in UTC, to the millisecond."""
    return "-" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03}Z"


def age(of: timedelta) -> str:
    """A duration in its largest unit, for narrow columns."""
    seconds = max(int(of.total_seconds()), 0)
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def styled(state: str) -> str:
    """A state in its colour."""
    colour = COLOURS.get(State(state))
    return click.style(state, fg=colour) if colour else state


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[str] = frozenset(),
    paint: Callable[[str, str], str] | None = None,
) -> list[str]:
    """Aligned lines under a line of titles, cut to a terminal's width; `paint(title, cell)` adds colour."""
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    room = shutil.get_terminal_size().columns if is_terminal() else None

    def line(cells: Sequence[str], colour: Callable[[str, str], str]) -> str:
        pieces, used = [], 0
        for title, cell, width in zip(titles, cells, widths, strict=True):
            padded = cell.rjust(width) if title in right else cell.ljust(width)
            kept = padded if room is None else padded[: max(room - used, 0)]
            used += len(padded) + 2
            pieces.append(kept.replace(cell, colour(title, cell), 1) if cell else kept)
        return "  ".join(pieces).rstrip()

    as_is: Callable[[str, str], str] = lambda _title, cell: cell  # noqa: E731
    dim: Callable[[str, str], str] = lambda _title, cell: click.style(cell, dim=True)  # noqa: E731
    return [line(titles, dim), *(line(row, paint or as_is) for row in rows)]


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        character.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return json.dumps(character)[1:-1]
    return character if character.isprintable() else json.dumps(character)[1:-1]
