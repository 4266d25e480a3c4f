"""A job's history: whether every step of it is legal, and the path it took as text."""

from collections.abc import Sequence

import click

from tenure.core.errors import TenureError
from tenure.core.job import Event
from tenure.core.states import State, is_legal
from tenure.core.trail import CUSTOM, HOOK_FAILED
from tenure.surfaces.cli.output import COLOURS


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


def styled(state: State) -> str:
    """The word for a state, in its colour."""
    return click.style(state, fg=COLOURS.get(state))
