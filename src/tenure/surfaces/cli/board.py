"""The jobs of the demo while they run: a table that is drawn again in place, or one line a change."""

import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol
from uuid import UUID

import click

from tenure.core.job import Event, Job
from tenure.core.lease import Progress
from tenure.core.outcome import Attempt
from tenure.core.states import State
from tenure.surfaces.cli import history

TITLES = ("job", "state", "attempt", "")
WIDTHS = (8, 10, 7)
BAR = 20


@dataclass
class Row:
    """One job, as far as it is known here; `about` says what it is there to show."""

    id: UUID
    name: str
    about: str
    most_attempts: int
    events: list[Event] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    job: Job | None = None
    progress: Progress | None = None

    @property
    def state(self) -> State:
        """The state by the last event that was seen."""
        return self.events[-1].target if self.events else State.QUEUED

    def said_of(self, event: Event) -> str:
        """What there is to say of a step beside the state that it led to."""
        attempt = next((one for one in self.attempts if one.fence == event.fence), None)
        match event.target:
            case State.RETRYING | State.FAILED if attempt and attempt.error:
                return f"{attempt.error.kind}: {(attempt.error.message.splitlines() or [''])[0]}"
            case State.SUCCEEDED if self.job and self.job.result:
                return self.job.result
            case State.CANCELLING:
                return event.reason or ""
            case State.CANCELLED if attempt and attempt.usage and attempt.usage.signal:
                return f"killed by {signal.Signals(attempt.usage.signal).name}"
            case _:
                return ""


class Board(Protocol):
    """Shows rows; called again and again."""

    def show(self, rows: Sequence[Row]) -> None:
        """Show where the jobs are."""


def board_for_output(rows: int, *, colour: bool) -> Board:
    """A table where the output is a terminal that can hold it, else lines."""
    fits = shutil.get_terminal_size().lines > rows + 2
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and fits:
        return Table(colour=colour)
    return Lines()


class Lines:
    """One line a change, with its time by the store's clock, and one for each quarter of a job's progress."""

    def __init__(self) -> None:
        self._quarters: Counter[UUID] = Counter()
        self._printed: Counter[UUID] = Counter()

    def show(self, rows: Sequence[Row]) -> None:
        """Print what is new: progress first, as it was heard before the step that ended it was on record."""
        for row in rows:
            if row.progress and (quarter := int(row.progress.fraction * 4)) > self._quarters[row.id]:
                self._quarters[row.id] = quarter
                _print("", row.name, f"{row.progress.fraction:.0%}", row.progress.message)
        news = [(row, event) for row in rows for event in row.events[self._printed[row.id] :]]
        for row, event in sorted(news, key=lambda one: one[1].at):
            self._printed[row.id] += 1
            after = (event.at - rows[0].events[0].at) / timedelta(seconds=1)
            _print(f"+{after:.2f} s", row.name, event.target, _attempt(row, event), row.said_of(event))


class Table:
    """A table that is drawn over itself."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._drawn: list[str] = []

    def show(self, rows: Sequence[Row]) -> None:
        """Draw the table, if it looks different now."""
        width = shutil.get_terminal_size().columns - 1
        lines = [_cut(TITLES, width), *(self._line(row, width) for row in rows)]
        if lines != self._drawn:
            # A line that is wider than the terminal would take two of them, and we would go up too few.
            up = f"\x1b[{len(self._drawn)}A" if self._drawn else ""
            # All at once, or the eye would see it being drawn.
            click.echo(up + "".join(f"\x1b[2K{line}\n" for line in lines), nl=False, color=True)
            self._drawn = lines

    def _line(self, row: Row, width: int) -> str:
        last = row.events[-1] if row.events else None
        attempt = _attempt(row, last) if last else ""
        line = _cut((row.name, row.state, attempt, _seen(row, last)), width)
        return line.replace(row.state, history.styled(row.state), 1) if self._colour else line


def drawn(wanted: str, plain: str) -> str:
    """The wanted character if the output can write it, else the plain one."""
    try:
        wanted.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return wanted


def _print(when: str, name: str, what: str, more: str, said: str = "") -> None:
    click.echo(f"{when:>8}  {_cut((name, what, more, said))}")


def _cut(cells: Sequence[str], width: int | None = None) -> str:
    fixed = "  ".join(f"{cell:<{least}}" for cell, least in zip(cells[:-1], WIDTHS, strict=True))
    return f"{fixed}  {cells[-1]}"[:width].rstrip()


def _seen(row: Row, last: Event | None) -> str:
    if row.progress and row.state.is_owned:
        return f"{_bar(row.progress.fraction)} {row.progress.fraction:>4.0%}  {row.progress.message}"
    return (last and row.said_of(last)) or row.about


def _attempt(row: Row, event: Event) -> str:
    waits = event.target is State.QUEUED
    return "" if waits else f"{event.attempt} of {row.most_attempts}"


def _bar(fraction: float) -> str:
    done = round(fraction * BAR)
    full, empty = drawn("\N{FULL BLOCK}", "#"), drawn("\N{LIGHT SHADE}", ".")
    return full * done + empty * (BAR - done)
