"""The timeline of a job: one ruler for its attempts, what came before each, and the steps that it kept.

Of a step that is done only its end is known: it is a mark, and no bar. Nothing is drawn that did not happen.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from tenure.api.durable_shapes import StepItem
from tenure.core.model.durable import StepStatus
from tenure.core.model.job import Event
from tenure.core.model.states import OWNED, State
from tenure.surfaces.dashboard.figures.svg import Rect, per_cent
from tenure.surfaces.dashboard.formats import span

MOST_ROWS = 20
"""Rows of attempts, the last ones."""

MOST_STEPS = 12
"""Steps of one attempt."""

LEAST = 0.006
"""The part of the ruler that what would be too narrow to see has at least."""

UNSEEN = 0.001
"""The part of the ruler below which a wait is left out."""

_WAITS = {
    State.RETRYING: ("back-off", "warn"),
    State.SUSPENDED: ("suspended", "rest"),
}
_NAMES = {
    State.CREATED: "Held",
    State.SCHEDULED: "Scheduled",
    State.QUEUED: "Waiting",
    State.RETRYING: "Back-off",
    State.SUSPENDED: "Suspended",
}
"""What a row is called that leads to no attempt yet."""

_ENDED = {
    State.SUCCEEDED: ("ran", "good", "succeeded"),
    State.FAILED: ("ran", "bad", "failed"),
    State.BURIED: ("ran", "bad", "worker lost"),
    State.RETRYING: ("ran", "bad", "failed"),
    State.SUSPENDED: ("ran", "accent", "suspended"),
    State.CANCELLED: ("ran", "muted", "cancelled"),
    State.QUEUED: ("ran", "muted", "handed back"),
}
"""How an attempt is drawn that led to a state, its tone and its word."""

_LEGEND = {
    ("wait", "muted"): "waiting",
    ("wait", "warn"): "back-off",
    ("wait", "rest"): "suspended",
    ("", "accent"): "running",
    ("ran", "accent"): "ran, then suspended",
    ("ran", "good"): "succeeded",
    ("ran", "muted"): "stopped",
    ("kept", "good"): "kept",
    ("ran", "bad"): "failed",
}
"""The words of the legend, in its order, by the form and the tone of bars."""


class TimelineRow(Struct, frozen=True):
    """A row: an attempt with what came before it, or one of its steps.

    `state` is the silhouette beside an attempt's name; `says` is the drawing in words, `took` a length.
    """

    name: str
    bars: Sequence[Rect]
    took: str
    says: str
    state: str = ""
    is_step: bool = False


class Timeline(Struct, frozen=True):
    """The rows, the times below them, and the legend: word, tone and form. `is_cut`: its start is cut."""

    rows: Sequence[TimelineRow]
    times: Sequence[str]
    legend: Sequence[tuple[str, str, str]]
    is_cut: bool


class StateSpan(Struct, frozen=True):
    """A time that a job spent in one state; `led_to` is the step that ended it, None if it goes on."""

    state: State
    begin: datetime
    end: datetime
    attempt: int
    fence: int
    led_to: Event | None


class Ruler(Struct, frozen=True):
    """From times to places."""

    begin: datetime
    end: datetime

    def rect(self, begin: datetime, end: datetime, form: str, tone: str, title: str) -> Rect:
        """A bar from one time to another, wide enough to be seen."""
        at, to = self._place(begin), self._place(end)
        width = max(to - at, LEAST if form != "wait" else 0.0)
        return self._rect(min(at, 1 - LEAST), width, form, tone, title)

    def cap(self, end: datetime) -> Rect:
        """The solid end of an attempt that failed."""
        return self._rect(max(self._place(end) - LEAST, 0.0), LEAST, "", "bad", "")

    def times(self, *, is_open: bool) -> list[str]:
        """Five times along the ruler."""
        length = self.end - self.begin
        form = "%d %b %H:%M" if length >= timedelta(days=1) else "%H:%M:%S"
        told = [(self.begin + length * n / 4).strftime(form) for n in range(5)]
        if length < timedelta(seconds=8):
            told = [f"{(self.begin + length * n / 4):%H:%M:%S.%f}"[:-4] for n in range(5)]
        return [*told[:-1], "now"] if is_open else told

    def _place(self, at: datetime) -> float:
        return min(max((at - self.begin) / max(self.end - self.begin, timedelta(milliseconds=1)), 0.0), 1.0)

    @staticmethod
    def _rect(at: float, width: float, form: str, tone: str, title: str) -> Rect:
        return Rect(per_cent(at), "0", per_cent(width), "100%", tone, title, form)


def draw(events: Sequence[Event], end: datetime, steps: Sequence[StepItem] = ()) -> Timeline | None:
    """The timeline of these events, until `end` if the job has not ended. None if there are none."""
    parts = list(_parts(list(_spans(events, end))))
    if not parts:
        return None
    shown = parts[-MOST_ROWS:]
    last = shown[-1][-1]
    ruler = Ruler(shown[0][0].begin, last.end)
    rows = [row for place, part in enumerate(shown) for row in _rows(part, shown[:place], ruler, steps)]
    drawn = {(bar.form, bar.tone) for row in rows for bar in row.bars if bar.title}
    legend = [(word, tone, form) for (form, tone), word in _LEGEND.items() if (form, tone) in drawn]
    is_open = last.led_to is None
    return Timeline(rows, ruler.times(is_open=is_open), legend, len(shown) < len(parts) or events[0].n > 1)


def _spans(events: Sequence[Event], end: datetime) -> Iterable[StateSpan]:
    steps = [event for event in events if event.source is not event.target]
    for place, step in enumerate(steps, 1):
        following = steps[place] if place < len(steps) else None
        until = end if following is None else following.at
        if not step.target.is_final:
            # This process's clock may be behind the store's: nothing may be drawn backwards.
            yield StateSpan(step.target, step.at, max(until, step.at), step.attempt, step.fence, following)


def _parts(spans: Sequence[StateSpan]) -> Iterator[list[StateSpan]]:
    """The spans up to the end of each attempt."""
    part: list[StateSpan] = []
    for one in spans:
        if part and part[-1].state in OWNED and one.state not in OWNED:
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def _rows(
    part: Sequence[StateSpan], before: Sequence[Sequence[StateSpan]], ruler: Ruler, steps: Sequence[StepItem]
) -> Iterator[TimelineRow]:
    owned = [one for one in part if one.state in OWNED]
    bars = [bar for one in part for bar in _bars(one, ruler)]
    says = ", ".join(bar.title for bar in bars if bar.title)
    if not owned:
        yield TimelineRow(
            _NAMES[part[-1].state], bars, span(part[-1].end - part[0].begin), says, part[-1].state
        )
        return
    attempt = owned[0].attempt
    is_again = any(one.attempt == attempt and one.state in OWNED for old in before for one in old)
    name = f"Attempt {attempt}{', resumed' if is_again else ''}"
    ran = span(sum((one.end - one.begin for one in owned), timedelta(0)))
    yield TimelineRow(name, bars, ran, says, _mark(owned[-1]))
    fences = {one.fence for one in owned}
    # A step that waits is the suspension, which has a row of its own.
    own = [step for step in steps if step.fence in fences and step.status is not StepStatus.WAITING]
    earlier = {one.fence for old in before for one in old}
    kept = sum(1 for step in steps if step.fence in earlier and step.status is StepStatus.DONE)
    if kept and own:
        word = "1 step" if kept == 1 else f"{kept} steps"
        at = owned[0].begin
        bar = ruler.rect(at, at, "kept", "good", f"{word} kept from before")
        yield TimelineRow(word, [bar], "kept", bar.title, is_step=True)
    for step in own[:MOST_STEPS]:
        yield _step_row(step, owned, ruler)
    if len(own) > MOST_STEPS:
        yield TimelineRow(f"{len(own) - MOST_STEPS} more steps", [], "", "not drawn", is_step=True)


def _bars(one: StateSpan, ruler: Ruler) -> Iterator[Rect]:
    length = span(one.end - one.begin)
    if one.state not in OWNED:
        word, tone = _WAITS.get(one.state, ("waited" if one.led_to else "waiting", "muted"))
        if one.end - one.begin >= UNSEEN * (ruler.end - ruler.begin) or ruler.end == ruler.begin:
            yield ruler.rect(one.begin, one.end, "wait", tone, f"{word} {length}")
        return
    if one.led_to is None or one.led_to.target in OWNED:
        yield ruler.rect(one.begin, one.end, "", "accent", f"{one.state} {length}")
        return
    form, tone, word = _ended(one.led_to)
    yield ruler.rect(one.begin, one.end, form, tone, f"ran {length}, {word}")
    if tone == "bad":
        yield ruler.cap(one.end)


def _ended(step: Event) -> tuple[str, str, str]:
    return ("ran", "bad", "worker lost") if step.type == "orphaned" else _ENDED[step.target]


def _mark(one: StateSpan) -> str:
    if one.led_to is None:
        return one.state
    _, tone, _ = _ended(one.led_to)
    return {"good": "succeeded", "bad": "failed", "accent": "suspended"}.get(tone, "cancelled")


def _step_row(step: StepItem, owned: Sequence[StateSpan], ruler: Ruler) -> TimelineRow:
    """A mark where a step was done; a bar for what goes on, since its begin is known."""
    if step.status is StepStatus.DONE:
        took = f"after {span(max(step.at - owned[0].begin, timedelta(0)))}"
        bar = ruler.rect(step.at, step.at, "kept", "good", "kept")
        return TimelineRow(step.name, [bar], took, f"kept {took}", is_step=True)
    if step.in_doubt:
        bar = ruler.rect(step.at, step.at, "", "bad", "in doubt")
        return TimelineRow(
            step.name, [bar], "in doubt", "begun, and nobody knows whether it happened", is_step=True
        )
    if step.status is StepStatus.INTENDED:
        length = span(max(owned[-1].end - step.at, timedelta(0)))
        bar = ruler.rect(step.at, owned[-1].end, "", "accent", f"running {length}")
        return TimelineRow(step.name, [bar], length, bar.title, is_step=True)
    bar = ruler.rect(step.at, step.at, "ran", "muted", str(step.status))
    return TimelineRow(step.name, [bar], str(step.status), str(step.status), is_step=True)
