"""Ticks found by going through every minute around a change of clocks, with `zoneinfo` alone.

Nothing here knows how the product finds ticks; an expression is a plain function of a wall clock's time.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

ZONES = (
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Asuncion",
    "America/Havana",
    "America/Los_Angeles",
    "America/New_York",
    "America/Nuuk",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Jerusalem",
    "Asia/Kolkata",
    "Asia/Tehran",
    "Atlantic/Azores",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Auckland",
    "Pacific/Chatham",
)

MINUTE = timedelta(minutes=1)
Matches = Callable[[datetime], bool]


def changes(zone: ZoneInfo, first: int = 2020, last: int = 2035) -> Iterator[datetime]:
    """The moments at which the zone's clocks are put forward or back."""
    day, end = datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC)
    while day < end:
        following = day + timedelta(days=1)
        if _offset(day, zone) != _offset(following, zone):
            early, late = day, following
            while late - early > MINUTE:
                middle = early + ((late - early) // 2 // MINUTE) * MINUTE
                early, late = (
                    (middle, late) if _offset(middle, zone) == _offset(day, zone) else (early, middle)
                )
            yield late
        day = following


class Minute(NamedTuple):
    """A minute: what clocks show, whether for the second time, and what they have just skipped."""

    moment: datetime
    wall: datetime
    is_repeated: bool
    skipped: tuple[datetime, ...]


def minutes(zone: ZoneInfo, first: datetime, last: datetime) -> list[Minute]:
    """Every minute from one whole minute to another, as clocks of the zone show it."""
    found = []
    before = (first - MINUTE).astimezone(zone).replace(tzinfo=None)
    for n in range((last - first) // MINUTE + 1):
        here = (first + n * MINUTE).astimezone(zone)
        wall = here.replace(tzinfo=None)
        skipped = tuple(before + MINUTE * m for m in range(1, (wall - before) // MINUTE))
        found.append(Minute(first + n * MINUTE, wall, bool(here.fold), skipped))
        before = wall
    return found


def ticks(matches: Matches, is_fixed: bool, among: list[Minute]) -> list[datetime]:
    """The minutes at which an expression fires; one that names times of the day fires after a gap, too."""
    return [
        minute.moment
        for minute in among
        if (matches(minute.wall) and not (is_fixed and minute.is_repeated))
        or (is_fixed and any(map(matches, minute.skipped)))
    ]


def _offset(moment: datetime, zone: ZoneInfo) -> timedelta | None:
    return moment.astimezone(zone).utcoffset()
