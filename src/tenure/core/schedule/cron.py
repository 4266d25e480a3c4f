"""Cron expressions of five fields: what they say, and which days and times of day they match.

    minute  hour  day of month  month  day of week
    0-59    0-23  1-31, L       1-12   0-7 (0 and 7 are Sunday), 5L, 1#2

A field is ``*`` or a list of values, ranges ``a-b`` and steps ``*/n``, ``a-b/n``, ``a/n``. Months and days of
the week also have names of three letters. ``L`` is the last day of the month, ``5L`` its last Friday, ``1#2``
its second Monday. If day of month and day of week are both restricted, a day matches when either does.
"""

import calendar
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from msgspec import Struct

from tenure.core.errors import InvalidInput

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST = 255
_LAST = 32
"""Stands for the last day of a month; no month has a day of that number."""

_RARE = timedelta(days=366 * 41)
"""Every day that exists comes back within this time: a 29th of February on a Monday within 40 years."""


class _Field(Struct, frozen=True):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_MINUTE = _Field("minute", 0, 59)
_HOUR = _Field("hour", 0, 23)
_DAY = _Field("day of month", 1, 31)
_MONTHS = ("", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTH = _Field("month", 1, 12, _MONTHS)
_WEEKDAY = _Field("day of week", 0, 7, ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))
_FIELDS = (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)


class Cron(Struct, frozen=True):
    """A cron expression. `minutes` and `hours` are in order; weekdays are 0 to 6 from Sunday on.

    `nth_weekdays` are pairs of a weekday and its number in the month, -1 for the last.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    nth_weekdays: frozenset[tuple[int, int]]
    needs_both_days: bool
    is_fixed: bool
    """Whether it names times of the day, rather than a rhythm: it matters when clocks change."""

    def matches(self, day: date) -> bool:
        """Whether the expression fires on this day at all."""
        if day.month not in self.months:
            return False
        by_number = day.day in self.days or (_LAST in self.days and _is_last(day, 1))
        weekday = day.isoweekday() % 7
        by_weekday = (
            weekday in self.weekdays
            or (weekday, (day.day + 6) // 7) in self.nth_weekdays
            or ((weekday, -1) in self.nth_weekdays and _is_last(day, 7))
        )
        return (by_number and by_weekday) if self.needs_both_days else (by_number or by_weekday)

    def days_from(self, first: date) -> Iterator[date]:
        """The days on which it fires, from a day on."""
        day = first
        while day - first <= _RARE:
            if day.month in self.months:
                if self.matches(day):
                    yield day
                day += timedelta(days=1)
            else:
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)

    def days_back(self, last: date, first: date) -> Iterator[date]:
        """The days on which it fires, from the last one back to the first."""
        day = last
        while day >= first:
            if day.month in self.months:
                if self.matches(day):
                    yield day
                day -= timedelta(days=1)
            else:
                day = day.replace(day=1) - timedelta(days=1)

    @property
    def times_a_day(self) -> int:
        """How many times it names of a day."""
        return len(self.hours) * len(self.minutes)

    def times_back(self, latest: time) -> Iterator[time]:
        """The times of a day on which it fires, from a time back."""
        for hour in reversed(self.hours[: bisect_right(self.hours, latest.hour)]):
            most = latest.minute if hour == latest.hour else 59
            for minute in reversed(self.minutes[: bisect_right(self.minutes, most)]):
                yield time(hour, minute)

    def times_from(self, earliest: time) -> Iterator[time]:
        """The times of a day on which it fires, from a time on, in order."""
        for hour in self.hours[bisect_left(self.hours, earliest.hour) :]:
            least = earliest.minute if hour == earliest.hour else 0
            for minute in self.minutes[bisect_left(self.minutes, least) :]:
                yield time(hour, minute)

    def next_on_clock(self, after: datetime) -> datetime | None:
        """The first match after a time without a zone, by a clock that never changes."""
        start = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
        for day in self.days_from(start.date()):
            earliest = start.time() if day == start.date() else time.min
            for at in self.times_from(earliest):
                return datetime.combine(day, at)
        return None


@lru_cache(1024)
def parse(text: str) -> Cron:
    """Read an expression. Raises InvalidInput, which names the field and what is wrong with it."""
    fields = _split(text)
    minutes, hours, days, months = (
        _values(field, number, part)
        for number, (field, part) in enumerate(zip(_FIELDS[:4], fields[:4], strict=True), 1)
    )
    weekdays, nth = _weekdays(fields[4])
    cron = Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=weekdays,
        nth_weekdays=nth,
        needs_both_days=fields[2].startswith("*") or fields[4].startswith("*"),
        is_fixed=not (fields[0].startswith("*") or fields[1].startswith("*")),
    )
    if next(cron.days_from(date(2000, 1, 1)), None) is None:
        raise InvalidInput("cron", f"{text!r:.80} never fires: no such day exists")
    return cron


def _split(text: str) -> list[str]:
    if not text.strip() or len(text) > _LONGEST or not text.isprintable():
        raise InvalidInput("cron", f"is not 1 to {_LONGEST} printable characters")
    first = text.split(maxsplit=1)[0]
    if first.startswith("@"):
        known = _NICKNAMES.get(text.strip().lower())
        if known is None:
            raise InvalidInput(
                "cron", f"{text!r:.80} is not known", f"give five fields or one of {', '.join(_NICKNAMES)}"
            )
        return known.split()
    if "=" in first:
        raise InvalidInput(
            "cron", f"begins with {first!r:.40}", "give the time zone by itself, not in the expression"
        )
    fields = text.upper().split()
    if len(fields) != len(_FIELDS):
        names = ", ".join(field.name for field in _FIELDS)
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        more = "; there is no field for seconds: use an interval" if len(fields) == 6 else ""
        raise InvalidInput("cron", f"{text!r:.80} has {count}", f"give five: {names}{more}")
    return fields


def _weekdays(text: str) -> tuple[frozenset[int], frozenset[tuple[int, int]]]:
    plain, nth = set[int](), set[tuple[int, int]]()
    for term in text.split(","):
        if term.endswith("L") and len(term) > 1 and "-" not in term and "/" not in term:
            nth.add((_number(_WEEKDAY, 5, term[:-1], term) % 7, -1))
        elif "#" in term:
            day, _, count = term.partition("#")
            if count not in {"1", "2", "3", "4", "5"}:
                raise _refused(_WEEKDAY, 5, term, "give 1 to 5 after #")
            nth.add((_number(_WEEKDAY, 5, day, term) % 7, int(count)))
        else:
            plain.update(value % 7 for value in _term(_WEEKDAY, 5, term))
    return frozenset(plain), frozenset(nth)


def _values(field: _Field, number: int, text: str) -> set[int]:
    values = set[int]()
    for term in text.split(","):
        if field is _DAY and term == "L":
            values.add(_LAST)
        else:
            values.update(_term(field, number, term))
    return values


def _term(field: _Field, number: int, term: str) -> range:
    span, slash, step_text = term.partition("/")
    step = 1
    if slash:
        if not (step_text.isascii() and step_text.isdigit() and 0 < int(step_text) <= field.most):
            raise _refused(field, number, term, f"give a step from 1 to {field.most} after /")
        step = int(step_text)
    if span == "*":
        return range(field.least, field.most + 1, step)
    low_text, dash, high_text = span.partition("-")
    low = _number(field, number, low_text, term)
    high = _number(field, number, high_text, term) if dash else field.most if slash else low
    if high < low and field is _WEEKDAY and high == 0:
        high = 7  # FRI-SUN
    if high < low:
        raise _refused(field, number, term, "the range runs backwards: give two ranges with a comma")
    return range(low, high + 1, step)


def _number(field: _Field, number: int, text: str, term: str) -> int:
    if text and text in field.names:
        return field.names.index(text)
    if text == "?":
        raise _refused(field, number, term, "write * for any")
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        names = f" or {field.names[-1]}" if field.names else ""
        raise _refused(field, number, term, f"give numbers such as {field.most}{names}, *, a-b or */n")
    value = int(text)
    if not field.least <= value <= field.most:
        raise _refused(field, number, term, f"give {field.least} to {field.most}")
    return value


def _refused(field: _Field, number: int, term: str, remedy: str) -> InvalidInput:
    return InvalidInput("cron", f"field {number}, {field.name}, is {term!r:.40}", remedy)


def _is_last(day: date, within: int) -> bool:
    return day.day + within > calendar.monthrange(day.year, day.month)[1]
