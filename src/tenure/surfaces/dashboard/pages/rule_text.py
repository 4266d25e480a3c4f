"""The rule of a schedule in words, where a few of them say it."""

from collections.abc import Sequence

from tenure.core.schedule.cron import Cron, parse
from tenure.core.schedule.recurrence import Recurrence
from tenure.surfaces.dashboard.formats import span

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_WEEKDAYS = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")
_ALL_DAYS = frozenset(range(1, 32))
_LAST_DAY = 32
_ALL_WEEKDAYS = frozenset(range(7))
_MOST = 4
"""Times and days that are named one by one; with more, the expression itself is easier to read."""


def rule_text(rule: Recurrence) -> str | None:
    """When it fires, without the zone; None if only the expression says it."""
    if rule.every is not None:
        seconds = rule.every.total_seconds()
        unit, name = next((one for one in _UNITS if seconds % one[0] == 0), (0, ""))
        return _every(int(seconds) // unit, name) if unit else f"every {span(rule.every)}"
    cron = parse(rule.cron or "")
    days, rhythm, times = _days(cron), _rhythm(cron), _times(cron)
    if days is None:
        return None
    if rhythm is not None:
        return f"{rhythm}, {days}" if days else rhythm
    return f"{days or 'every day'} at {times}" if times else None


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _rhythm(cron: Cron) -> str | None:
    """Such as every 15 minutes; None if it names times of the day."""
    minutes, hours = cron.minutes, cron.hours
    if len(hours) == 24:
        if len(minutes) == 1:
            return f"every hour at :{minutes[0]:02}"
        step = _step(minutes, 60)
        return _every(step, "minute") if step else None
    step = _step(hours, 24)
    if cron.is_fixed or len(minutes) > 1 or not step:
        return None
    return f"every {step} hours at :{minutes[0]:02}"


def _step(values: Sequence[int], of: int) -> int:
    """The step from one value to the next, if they fill an hour or a day evenly from 0 on; else 0."""
    step = of // len(values)
    return step if tuple(values) == tuple(range(0, of, step)) else 0


def _times(cron: Cron) -> str | None:
    times = [f"{hour:02}:{minute:02}" for hour in cron.hours for minute in cron.minutes]
    return _listed(times) if len(times) <= _MOST else None


def _days(cron: Cron) -> str | None:
    """The days in words: nothing if they are all days, None if they are too many to name."""
    if len(cron.months) < 12 or cron.nth_weekdays:
        return None
    is_any_day, is_any_weekday = cron.days >= _ALL_DAYS, cron.weekdays == _ALL_WEEKDAYS
    # Where both are restricted in writing, a day matches when either does.
    if (is_any_day and is_any_weekday) or ((is_any_day or is_any_weekday) and not cron.needs_both_days):
        return ""
    if is_any_weekday:
        return _days_of_month(cron.days)
    return _days_of_week(cron.weekdays) if is_any_day else None


def _days_of_month(days: frozenset[int]) -> str | None:
    if len(days) > _MOST:
        return None
    return "on " + _listed([_ordinal(day) for day in sorted(days)])


def _days_of_week(days: frozenset[int]) -> str:
    if days == frozenset(range(1, 6)):
        return "weekdays"
    # From Monday on, as weeks are written.
    return _listed([_WEEKDAYS[day] for day in sorted(days, key=lambda day: (day - 1) % 7)])


def _ordinal(day: int) -> str:
    if day == _LAST_DAY:
        return "the last day of the month"
    ending = "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"the {day}{ending}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
