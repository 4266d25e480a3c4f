"""A job's history: checks that every step is legal, and prints the path that the job took."""

from collections.abc import Sequence

import click

from tenure.core.errors import TenureError
from tenure.core.model import trail
from tenure.core.model.job import Event
from tenure.core.model.states import State, is_legal
from tenure.surfaces.cli.output import COLOURS


class Astray(TenureError):
    """A job took an illegal or unexpected path."""


def is_note(event: Event) -> bool:
    """Whether the event is a note, which changes no state, and not a step."""
    return trail.is_note(event.type) and event.source is event.target


def check(events: Sequence[Event]) -> None:
    """Raise Astray unless each event follows the one before, as a note or as a legal step."""
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


def styled(state: State) -> str:
    """The name of a state, in its colour."""
    return click.style(state, fg=COLOURS.get(state))
