"""The timeline of a job, drawn to scale, one row for each attempt."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.core.model.job import Event
from tenure.core.model.states import OWNED, State

WIDTH = 1000.0
"""Width of the drawing, in its own units."""

_LEAST = 4.0
"""Width of a bar that would be too narrow to see."""


class Bar(Struct, frozen=True):
    """A time in one state."""

    state: State
    x: float
    width: float
    length: timedelta


class TimelineRow(Struct, frozen=True):
    """One attempt, and the waiting before it; `attempt` is None if there was none yet."""

    attempt: int | None
    bars: Sequence[Bar]
    ran: timedelta | None
    """How long a worker owned it."""


class Timeline(Struct, frozen=True):
    """The rows, and the time that they cover; `is_cut` if the beginning is left out."""

    begin: datetime
    end: datetime
    rows: Sequence[TimelineRow]
    is_cut: bool

    @property
    def states(self) -> list[State]:
        """The states in the drawing, in the order of a job's life."""
        drawn = {bar.state for row in self.rows for bar in row.bars}
        return [state for state in State if state in drawn]


class StateSpan(Struct, frozen=True):
    """A time that a job spent in one state."""

    state: State
    begin: datetime
    end: datetime
    attempt: int


def draw(events: Sequence[Event], end: datetime) -> Timeline | None:
    """The timeline of these events, until `end` if the job has not ended. None if there are none."""
    spans = list(_spans(events, end))
    if not spans:
        return None
    begin, last = spans[0].begin, spans[-1].end
    scale = WIDTH / max((last - begin) / timedelta(milliseconds=1), 1)
    rows = [_row(part, begin, scale) for part in _parts(spans)]
    return Timeline(begin, last, rows, events[0].n > 1)


def _spans(events: Sequence[Event], end: datetime) -> Iterable[StateSpan]:
    steps = [event for event in events if event.source is not event.target]
    for place, step in enumerate(steps, 1):
        until = steps[place].at if place < len(steps) else end
        if not step.target.is_final:
            # This process's clock may be behind the store's: nothing may be drawn backwards.
            yield StateSpan(step.target, step.at, max(until, step.at), step.attempt)


def _parts(spans: Sequence[StateSpan]) -> Iterable[list[StateSpan]]:
    """The spans up to the end of each attempt."""
    part: list[StateSpan] = []
    for span in spans:
        if part and part[-1].state in OWNED and span.state not in OWNED:
            yield part
            part = []
        part.append(span)
    yield part


def _row(spans: Sequence[StateSpan], begin: datetime, scale: float) -> TimelineRow:
    owned = [span for span in spans if span.state in OWNED]
    ran = sum((span.end - span.begin for span in owned), timedelta(0)) if owned else None
    return TimelineRow(owned[0].attempt if owned else None, [_bar(span, begin, scale) for span in spans], ran)


def _bar(span: StateSpan, begin: datetime, scale: float) -> Bar:
    x = (span.begin - begin) / timedelta(milliseconds=1) * scale
    width = (span.end - span.begin) / timedelta(milliseconds=1) * scale
    if span.state in OWNED:
        width = max(width, _LEAST)
    return Bar(span.state, round(min(x, WIDTH - _LEAST), 1), round(width, 1), span.end - span.begin)
