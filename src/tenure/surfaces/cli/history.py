"""A job's history as text: the path it took, and a table of its steps. Each step is checked on the way."""

from collections.abc import Sequence
from datetime import timedelta

import click

from tenure.core.errors import TenureError
from tenure.core.job import Event
from tenure.core.states import State, is_legal
from tenure.core.trail import CUSTOM, HOOK_FAILED

COLOURS = {
    State.RUNNING: "cyan",
    State.CANCELLING: "yellow",
    State.RETRYING: "yellow",
    State.SUCCEEDED: "green",
    State.FAILED: "red",
    State.BURIED: "red",
    State.CANCELLED: "yellow",
}
NOWHERE = "-"

_TITLES = ("n", "event", "from", "", "to", "attempt", "fence", "at (ms)", "by")
_TO_THE_RIGHT = frozenset({"n", "attempt", "fence", "at (ms)"})


class Astray(TenureError):
    """A job went another way than it may, or than was expected of it."""


def is_note(event: Event) -> bool:
    """Whether the event is no step: a note stays where the job is."""
    noted = event.type == HOOK_FAILED or event.type.startswith(CUSTOM)
    return noted and event.source is event.target


def check(events: Sequence[Event]) -> None:
    """Raise Astray unless each event is the next one, a note or a legal step from where the last one led."""
    at: State | None = None
    for n, event in enumerate(events, 1):
        if (event.n, event.source) != (n, at):
            raise Astray(f"event {event.n} leaves {event.source}, but the job was {at} before event {n}")
        if not is_note(event) and not is_legal(event.source, event.target):
            raise Astray(f"the step from {event.source} to {event.target} is not in the table of steps")
        at = event.target


def path(events: Sequence[Event], arrow: str) -> str:
    """The states a job went through."""
    return f" {arrow} ".join(styled(event.target) for event in events if not is_note(event))


def table(events: Sequence[Event], arrow: str) -> list[str]:
    """The steps on record, as aligned lines under a line of titles."""
    titles = tuple(title or arrow for title in _TITLES)
    rows = [titles, *(_cells(event, events[0], arrow) for event in events)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
    lines = [_aligned(row, widths) for row in rows]
    return [click.style(lines[0], dim=True), *lines[1:]]


def _cells(event: Event, first: Event, arrow: str) -> tuple[str, ...]:
    return (
        str(event.n),
        event.type,
        event.source or NOWHERE,
        arrow,
        event.target,
        str(event.attempt),
        str(event.fence),
        f"+{(event.at - first.at) / timedelta(milliseconds=1):.1f}",
        event.actor + (f" ({event.reason})" if event.reason else ""),
    )


def _aligned(row: tuple[str, ...], widths: Sequence[int]) -> str:
    cells = (
        cell.rjust(width) if title in _TO_THE_RIGHT else cell.ljust(width)
        for title, cell, width in zip(_TITLES, row, widths, strict=True)
    )
    return "  ".join(cells).rstrip()


def styled(state: State) -> str:
    """The word for a state, in its colour."""
    return click.style(state, fg=COLOURS.get(state))
