"""The tries of a webhook's deliveries over time, as a chart."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tenure.core.webhooks.delivery import LastTries, LastTry
from tenure.surfaces.dashboard.figures import svg
from tenure.surfaces.dashboard.figures.charts import Drawn, Legend, PartRow

PART = timedelta(minutes=5)
PLACES = 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def tries_chart(known: LastTries, now: datetime) -> Drawn | None:
    """How the last tries of deliveries went in the last two hours; None if there was none.

    What came before all is known of is left out: it would look as if less had been sent.
    """
    last = _part(now)
    begins = [last - PART * n for n in reversed(range(PLACES))]
    if known.since is not None:
        begins = [one for one in begins if one >= known.since] or begins[-1:]
    counts = Counter((_part(one.at), one.is_delivered) for one in known.tries)
    stacks = [{"good": counts[at, True], "bad": counts[at, False]} for at in begins]
    if not any(sum(stack.values()) for stack in stacks):
        return None
    titles = [
        f"{at:%H:%M} to {at + PART:%H:%M}: {stack['good']:,} delivered, {stack['bad']:,} not"
        for at, stack in zip(begins, stacks, strict=True)
    ]
    grid = svg.scale(max(sum(stack.values()) for stack in stacks), is_whole=True)
    rows = [PartRow(at, [f"{n:,}" for n in stack.values()]) for at, stack in zip(begins, stacks, strict=True)]
    return Drawn(
        label="Deliveries per 5 minutes, by their last try",
        legend=[Legend("delivered", "good"), Legend("not delivered", "bad")],
        y=[f"{value:,.0f}" for value in reversed(grid)],
        x=svg.labels([f"{at:%H:%M}" for at in begins], 5),
        grid=[svg.per_cent(1 - value / grid[-1]) for value in reversed(grid)],
        bars=svg.bars(stacks, grid[-1]),
        hits=svg.hits(titles),
        rows=rows[::-1],
    )


def usual_answer(tries: Sequence[LastTry]) -> timedelta | None:
    """How long half of those that were delivered took at most; None without any."""
    lengths = sorted(one.took for one in tries if one.is_delivered and one.took is not None)
    return lengths[(len(lengths) - 1) // 2] if lengths else None


def _part(at: datetime) -> datetime:
    at = at.astimezone(UTC)
    return at - (at - _EPOCH) % PART
