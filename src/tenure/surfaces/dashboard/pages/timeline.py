"""The time line of a job: what it did when, drawn to scale, one row for each start."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.core.job import Event
from tenure.core.states import OWNED, State

WIDTH = 1000.0
"""Of the drawing, in its own units."""

_LEAST = 4.0
"""So wide is what would be too short to be seen."""


class Bar(Struct, frozen=True):
    """A stay in one state."""

    state: State
    x: float
    width: float
    length: timedelta


class Row(Struct, frozen=True):
    """What led to one start of a job, and what it came to; `attempt` is None before there was one."""

    attempt: int | None
    bars: Sequence[Bar]
    ran: timedelta | None
    """How long it was owned by a worker."""


class Timeline(Struct, frozen=True):
    """The rows, and the time that they all are drawn over; `is_cut` when its beginning is left out."""

    begin: datetime
    end: datetime
    rows: Sequence[Row]
    is_cut: bool

    @property
    def states(self) -> list[State]:
        """The states that are drawn, in the order of a job's life."""
        drawn = {bar.state for row in self.rows for bar in row.bars}
        return [state for state in State if state in drawn]


class Stay(Struct, frozen=True):
    """From when until when a job was in a state."""

    state: State
    begin: datetime
    end: datetime
    attempt: int


def draw(events: Sequence[Event], end: datetime) -> Timeline | None:
    """The time line of these events, up to a moment if the job has not ended. None where there is nothing."""
    stays = list(_stays(events, end))
    if not stays:
        return None
    begin, last = stays[0].begin, stays[-1].end
    scale = WIDTH / max((last - begin) / timedelta(milliseconds=1), 1)
    rows = [_row(part, begin, scale) for part in _parts(stays)]
    return Timeline(begin, last, rows, events[0].n > 1)


def _stays(events: Sequence[Event], end: datetime) -> Iterable[Stay]:
    steps = [event for event in events if event.source is not event.target]
    for place, step in enumerate(steps, 1):
        until = steps[place].at if place < len(steps) else end
        if not step.target.is_final:
            # A clock of ours that is behind the store's must not draw backwards.
            yield Stay(step.target, step.at, max(until, step.at), step.attempt)


def _parts(stays: Sequence[Stay]) -> Iterable[list[Stay]]:
    """The stays up to the end of each start."""
    part: list[Stay] = []
    for stay in stays:
        if part and part[-1].state in OWNED and stay.state not in OWNED:
            yield part
            part = []
        part.append(stay)
    yield part


def _row(stays: Sequence[Stay], begin: datetime, scale: float) -> Row:
    owned = [stay for stay in stays if stay.state in OWNED]
    ran = sum((stay.end - stay.begin for stay in owned), timedelta(0)) if owned else None
    return Row(owned[0].attempt if owned else None, [_bar(stay, begin, scale) for stay in stays], ran)


def _bar(stay: Stay, begin: datetime, scale: float) -> Bar:
    x = (stay.begin - begin) / timedelta(milliseconds=1) * scale
    width = (stay.end - stay.begin) / timedelta(milliseconds=1) * scale
    if stay.state in OWNED:
        width = max(width, _LEAST)
    return Bar(stay.state, round(min(x, WIDTH - _LEAST), 1), round(width, 1), stay.end - stay.begin)
