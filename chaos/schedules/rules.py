"""Where a rule puts ticks, found by counting: intervals from their start, cron by going through every minute.

Nothing here knows how the product finds ticks. Expressions have the five plain fields, without names, `L` or
`#`; the day of the week is 0 to 7.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from tenure.core.schedule.recurrence import Recurrence
from tests.core.schedule.clock_changes import minutes, ticks

FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def ticks_between(rule: Recurrence, first: datetime, last: datetime) -> Iterator[datetime]:
    """The ticks of a rule from one moment to another, both included, in order."""
    first = max(first, rule.starts_at).astimezone(UTC)
    last = last if rule.ends_at is None else min(last, rule.ends_at)
    if rule.every is not None:
        start = rule.starts_at.astimezone(UTC)
        tick = start + -((start - first) // rule.every) * rule.every
        while tick <= last:
            yield tick
            tick += rule.every
    elif first <= last:
        begin = first.replace(second=0, microsecond=0)
        walked = minutes(ZoneInfo(rule.timezone), begin, last)
        expression = (rule.cron or "").split()
        is_fixed = not any(field.startswith("*") for field in expression[:2])
        yield from (at for at in ticks(lambda wall: _fits(expression, wall), is_fixed, walked) if at >= first)


def _fits(expression: list[str], wall: datetime) -> bool:
    minute, hour, day, month, weekday = (
        _values(text, *bounds) for text, bounds in zip(expression, FIELDS, strict=True)
    )
    by_day, by_weekday = wall.day in day, not weekday.isdisjoint({wall.isoweekday(), wall.isoweekday() % 7})
    needs_both = expression[2].startswith("*") or expression[4].startswith("*")
    is_day = (by_day and by_weekday) if needs_both else (by_day or by_weekday)
    return is_day and wall.minute in minute and wall.hour in hour and wall.month in month


def _values(text: str, least: int, most: int) -> set[int]:
    found: set[int] = set()
    for term in text.split(","):
        span, slash, step = term.partition("/")
        low, dash, high = span.partition("-")
        first = least if span == "*" else int(low)
        last = int(high) if dash else most if span == "*" or slash else first
        found.update(range(first, last + 1, int(step or 1)))
    return found
