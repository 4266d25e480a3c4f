"""Shows the demo's jobs while they run: a table redrawn in place, or one line per change."""

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

from tenure.core.model.job import Event, Job
from tenure.core.model.lease import Progress
from tenure.core.model.outcome import Attempt
from tenure.core.model.states import State
from tenure.surfaces.cli.calls import history

TITLES = ("job", "state", "attempt", "")
WIDTHS = (8, 10, 7)
BAR = 20


@dataclass
class BoardRow:
    """One job, as last seen; `about` says what the job demonstrates."""

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
        """The state after the last event that was seen."""
        return self.events[-1].target if self.events else State.QUEUED

    def detail_of(self, event: Event) -> str:
        """What to show of a step beside its new state: an error, a result, a reason."""
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
    """Shows rows; called repeatedly."""

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show the jobs as they are now."""


def board_for_output(rows: int, *, colour: bool) -> Board:
    """A table if the output is a terminal with enough lines, else one line per change."""
    fits = shutil.get_terminal_size().lines > rows + 2
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb" and fits:
        return TableBoard(colour=colour)
    return LineBoard()


class LineBoard:
    """One line per change, with its time by the store's clock, and one per quarter of a job's progress."""

    def __init__(self) -> None:
        self._quarters: Counter[UUID] = Counter()
        self._printed: Counter[UUID] = Counter()

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Print what is new: progress first, since it arrived before the step that ended the attempt."""
        for row in rows:
            if row.progress and (quarter := int(row.progress.fraction * 4)) > self._quarters[row.id]:
                self._quarters[row.id] = quarter
                _print("", row.name, f"{row.progress.fraction:.0%}", row.progress.message)
        news = [(row, event) for row in rows for event in row.events[self._printed[row.id] :]]
        for row, event in sorted(news, key=lambda one: one[1].at):
            self._printed[row.id] += 1
            after = (event.at - rows[0].events[0].at) / timedelta(seconds=1)
            _print(f"+{after:.2f} s", row.name, event.target, _attempt(row, event), row.detail_of(event))


class TableBoard:
    """A table that is redrawn in place."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour
        self._drawn: list[str] = []

    def show(self, rows: Sequence[BoardRow]) -> None:
        """Draw the table if it has changed."""
        width = shutil.get_terminal_size().columns - 1
        lines = [_cut(TITLES, width), *(self._line(row, width) for row in rows)]
        if lines != self._drawn:
            # Lines are cut to the terminal's width: a wrapped one would take two, and we would go up too few.
            up = f"\x1b[{len(self._drawn)}A" if self._drawn else ""
            # In one write, so that it does not flicker.
            click.echo(up + "".join(f"\x1b[2K{line}\n" for line in lines), nl=False, color=True)
            self._drawn = lines

    def _line(self, row: BoardRow, width: int) -> str:
        last = row.events[-1] if row.events else None
        attempt = _attempt(row, last) if last else ""
        line = _cut((row.name, row.state, attempt, _seen(row, last)), width)
        return line.replace(row.state, history.styled(row.state), 1) if self._colour else line


def drawn(wanted: str, plain: str) -> str:
    """The wanted character if the output can encode it, else the plain one."""
    try:
        wanted.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return wanted


def _print(when: str, name: str, what: str, more: str, detail: str = "") -> None:
    click.echo(f"{when:>8}  {_cut((name, what, more, detail))}")


def _cut(cells: Sequence[str], width: int | None = None) -> str:
    fixed = "  ".join(f"{cell:<{least}}" for cell, least in zip(cells[:-1], WIDTHS, strict=True))
    return f"{fixed}  {cells[-1]}"[:width].rstrip()


def _seen(row: BoardRow, last: Event | None) -> str:
    if row.progress and row.state.is_owned:
        return f"{_bar(row.progress.fraction)} {row.progress.fraction:>4.0%}  {row.progress.message}"
    return (last and row.detail_of(last)) or row.about


def _attempt(row: BoardRow, event: Event) -> str:
    waits = event.target is State.QUEUED
    return "" if waits else f"{event.attempt} of {row.most_attempts}"


def _bar(fraction: float) -> str:
    done = round(fraction * BAR)
    full, empty = drawn("\N{FULL BLOCK}", "#"), drawn("\N{LIGHT SHADE}", ".")
    return full * done + empty * (BAR - done)
