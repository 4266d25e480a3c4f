"""The tries of a webhook's deliveries over time, as a chart."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tenure.core.webhooks.delivery import LastTries, LastTry
from tenure.surfaces.dashboard.figures.chart import Chart, clock_labels, of_counts

PART = timedelta(minutes=5)
PLACES = 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def tries_chart(known: LastTries, now: datetime) -> Chart | None:
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
    return of_counts("Last tries of deliveries per 5 minutes", stacks, clock_labels(begins), titles)


def usual_answer(tries: Sequence[LastTry]) -> timedelta | None:
    """How long half of those that were delivered took at most; None without any."""
    lengths = sorted(one.took for one in tries if one.is_delivered and one.took is not None)
    return lengths[(len(lengths) - 1) // 2] if lengths else None


def _part(at: datetime) -> datetime:
    at = at.astimezone(UTC)
    return at - (at - _EPOCH) % PART
