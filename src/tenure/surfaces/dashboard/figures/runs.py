"""The last runs of a schedule as ticks: how each ended, by form, height and tone."""

from collections import Counter
from collections.abc import Sequence

from tenure.core.model.states import DEAD_LETTERS, State
from tenure.core.schedule.schedule import TickOnRecord, TickOutcome
from tenure.surfaces.dashboard.figures.svg import Rect, Run, ticks

_MISSED = Run("warn", 0.4, is_hollow=True)
_SKIPPED = Run("warn", 0.18)
_FAILED = Run("bad", 1.0)
_ENDED = Run("good", 0.7)
_GOING = Run("accent", 0.7)
_STOPPED = Run("muted", 0.7)


def drawn(newest_first: Sequence[TickOnRecord], places: int) -> list[Rect]:
    """A tick a run, the newest at the right."""
    return ticks([_run(one) for one in reversed(newest_first)], places)


def in_words(newest_first: Sequence[TickOnRecord]) -> str:
    """The same for who does not see it."""
    words = Counter(_word(one) for one in newest_first)
    said = ", ".join(f"{n} {word}" for word, n in words.most_common())
    return f"last {len(newest_first)} runs: {said}" if said else "no run yet"


def _run(one: TickOnRecord) -> Run:
    match one.tick.outcome:
        case TickOutcome.MISSED:
            return _MISSED
        case TickOutcome.OVERLAPPED:
            return _SKIPPED
        case TickOutcome.FULL | TickOutcome.FAILED:
            return _FAILED
    if one.state in DEAD_LETTERS:
        return _FAILED
    if one.state is State.CANCELLED:
        return _STOPPED
    return _ENDED if one.state is None or one.state.is_final else _GOING


def _word(one: TickOnRecord) -> str:
    match one.tick.outcome:
        case TickOutcome.MISSED:
            return "missed"
        case TickOutcome.OVERLAPPED:
            return "skipped"
        case TickOutcome.FULL | TickOutcome.FAILED:
            return "without a job"
    return "no longer kept" if one.state is None else one.state.value
