"""The ticks of a schedule as drawings: a small one for lists, and one where height is how long a run took."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import structs

from tenure.core.model.states import State
from tenure.core.schedule.schedule import TickOnRecord, TickOutcome
from tenure.surfaces.dashboard.figures import svg
from tenure.surfaces.dashboard.figures.charts import Drawn
from tenure.surfaces.dashboard.formats import second, span

_KINDS = ("succeeded", "failed", "running", "waiting", "skipped", "missed", "not kept")
_RUNS = {
    "succeeded": svg.Run("good"),
    "failed": svg.Run("bad", 1.0),
    "running": svg.Run("accent"),
    "waiting": svg.Run("muted", 0.4),
    "skipped": svg.Run("warn", 0.15),
    "missed": svg.Run("muted", 0.5, is_hollow=True),
    "not kept": svg.Run("muted", 0.7),
}
_HEIGHTS = {"missed": 0.2, "skipped": 0.05}
_LEAST = 0.03
_MOST_MISSED = 50
"""So many runs that were missed in a row are drawn one by one."""


def kind_of(one: TickOnRecord) -> str:
    """What became of a tick, in one of seven words."""
    match one.tick.outcome, one.state:
        case TickOutcome.MISSED, _:
            return "missed"
        case TickOutcome.OVERLAPPED, _:
            return "skipped"
        case (TickOutcome.FAILED | TickOutcome.FULL, _) | (_, State.FAILED | State.BURIED | State.CANCELLED):
            return "failed"
        case _, State.SUCCEEDED:
            return "succeeded"
        case _, State.RUNNING | State.CANCELLING:
            return "running"
        case _, None:
            return "not kept"
    return "waiting"


def small(ticks: Sequence[TickOnRecord], places: int = 30) -> list[svg.Rect]:
    """The last ticks, which come newest first, for a list."""
    return svg.ticks([_RUNS[kind_of(one)] for one in _each(ticks, places)], places)


def told(ticks: Sequence[TickOnRecord], places: int) -> str:
    """The same in words, for those who do not see it."""
    shown = _each(ticks, places)
    counts = Counter(map(kind_of, shown))
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind])
    return f"last {len(shown)} runs: {kinds}" if shown else "no run yet"


def large(ticks: Sequence[TickOnRecord], places: int, now: datetime) -> Drawn:
    """The last ticks, each as high as its run took long."""
    shown = _each(ticks, places)
    lengths = [_length(one, now) for one in shown]
    grid = svg.time_scale(max(lengths, default=0.0) or 1.0, 2)
    runs, backs = [], []
    for one, length in zip(shown, lengths, strict=True):
        kind = kind_of(one)
        height = max(length / grid[-1], _LEAST) if length else _HEIGHTS.get(kind, _LEAST)
        runs.append(structs.replace(_RUNS[kind], height=height))
        backs.append(svg.Run("bad" if kind == "failed" else "", 1.0))
    first = places - len(shown)
    behind = [structs.replace(rect, form="back") for rect in svg.ticks(backs, places) if rect.tone]
    times = _clock_labels([one.tick.at.astimezone(UTC) for one in shown])
    return Drawn(
        label=told(ticks, places),
        legend=[],
        rows=[],
        y=[span(value) if value else "0" for value in reversed(grid)] if any(lengths) else [],
        x=svg.labels(times, 5) if not first else [],
        grid=[svg.per_cent(place / 2) for place in range(3)],
        bars=[*behind, *svg.ticks(runs, places)],
        hits=svg.hits([*[""] * first, *map(_title, shown)]),
    )


def _each(ticks: Iterable[TickOnRecord], places: int) -> list[TickOnRecord]:
    """The last runs, the oldest first; each that was missed stands by itself."""
    found: list[TickOnRecord] = []
    for one in ticks:
        found += [one] * (min(one.tick.count, _MOST_MISSED) if one.tick.outcome is TickOutcome.MISSED else 1)
    return found[:places][::-1]


def _length(one: TickOnRecord, now: datetime) -> float:
    if one.took is not None:
        return one.took.total_seconds()
    if kind_of(one) == "running" and one.started_at is not None:
        return max((now - one.started_at).total_seconds(), 0.0)
    return 0.0


def _title(one: TickOnRecord) -> str:
    took = f", took {span(one.took)}" if one.took is not None else ""
    return f"{second(one.tick.at)}: {kind_of(one)}{took}"


def _clock_labels(times: Sequence[datetime]) -> list[str]:
    """Times as an axis names them: with the day where they are of several days."""
    several = len({at.date() for at in times}) > 1
    return [at.strftime("%a %H:%M" if several else "%H:%M") for at in times]
