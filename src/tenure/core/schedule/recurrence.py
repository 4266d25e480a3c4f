"""The ticks of a schedule: by a cron expression in a time zone, or by an interval from a fixed start.

Clocks change twice a year. An expression that names times of the day (neither minute nor hour begins with
``*``) fires once for each: at the first moment after the gap if clocks skip the time, at the first of two if
they show it twice. An expression with a rhythm, such as ``*/30 * * * *``, fires whenever clocks show a
matching time: in both passes of a repeated hour, not in a skipped one. Intervals do not look at clocks.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.schedule.cron import Cron, parse
from tenure.core.schedule.wall_clock import after_gap, moments, shown, zone_named
from tenure.core.values.bounds import CALENDAR, HORIZON, whole_millis, within

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

SHORTEST_INTERVAL = timedelta(seconds=1)
_DAY = timedelta(days=1)


class Recurrence(Struct, frozen=True, kw_only=True):
    """When a schedule fires. Either `cron` or `every` is given; `every` counts from `starts_at`.

    No tick lies before `starts_at` or after `ends_at`. Ticks are moments in UTC.
    """

    cron: str | None = None
    every: timedelta | None = None
    timezone: str = "UTC"
    starts_at: datetime
    ends_at: datetime | None = None

    def __post_init__(self) -> None:
        if (self.cron is None) == (self.every is None):
            raise InvalidInput("cron", "needs exactly one of cron and every")
        zone_named(self.timezone)
        for field, moment in (("startsAt", self.starts_at), ("endsAt", self.ends_at)):
            if moment is not None:
                if moment.tzinfo is None:
                    raise InvalidInput(field, "has no time zone", "give one, such as 2026-01-31T09:00:00Z")
                within(field, moment, *CALENDAR)
        if self.ends_at is not None and self.ends_at < self.starts_at:
            raise InvalidInput("endsAt", "is before startsAt", "give a later one")
        if self.every is not None:
            within("every", self.every, SHORTEST_INTERVAL, HORIZON)
            whole_millis("every", self.every)
        else:
            parse(self.cron or "")

    def next_after(self, moment: datetime) -> datetime | None:
        """The first tick after a moment; None if there is none."""
        after = max(moment.astimezone(UTC), self.starts_at.astimezone(UTC) - timedelta(microseconds=1))
        if self.every is not None:
            start = self.starts_at.astimezone(UTC)
            found: datetime | None = start + ((after - start) // self.every + 1) * self.every
        else:
            found = _next_by_cron(parse(self.cron or ""), zone_named(self.timezone), after)
        if found is None or found > (self.ends_at or CALENDAR[1]):
            return None
        return found

    def latest(self, most: int, *, after: datetime, until: datetime) -> list[datetime]:
        """The last ticks after a moment and not after another, at most so many, in order."""
        back = timedelta(minutes=1)
        while True:
            begin = max(until - back, after)
            ticks = list(takewhile(until.__ge__, self.ticks_after(begin)))
            if len(ticks) >= most or begin == after:
                return ticks[-most:]
            back *= 2

    def ticks_after(self, moment: datetime) -> Iterator[datetime]:
        """All ticks after a moment, in order."""
        tick = self.next_after(moment)
        while tick is not None:
            yield tick
            tick = self.next_after(tick)


def _next_by_cron(cron: Cron, zone: "ZoneInfo", after: datetime) -> datetime | None:
    local = after.astimezone(zone)
    wall = cron.next_on_clock(local.replace(tzinfo=None))
    if wall is None:
        return None
    # Nearly always no clock changes between here and there, and then the offset is the same in both places.
    plain = (wall - (local.utcoffset() or timedelta())).replace(tzinfo=UTC)
    there = plain.astimezone(zone)
    if plain - after <= _DAY and there.replace(tzinfo=None) == wall and not (cron.is_fixed and there.fold):
        return plain
    return _nearest(cron, zone, after)


def _nearest(cron: Cron, zone: "ZoneInfo", after: datetime) -> datetime | None:
    """The first tick after a moment, with all changes of clocks.

    Where clocks are put back across midnight, ticks of one day may come after those of the next. So the
    search begins a day early, and looks a day further than the first tick it finds.
    """
    found: list[datetime] = []
    last_day = date.max
    for day in cron.days_from(shown(after, zone).date() - _DAY):
        if day > last_day:
            break
        found += [tick for tick in _ticks_of(cron, zone, day) if tick > after]
        if found and last_day == date.max:
            last_day = day + _DAY
    return min(found, default=None)


def _ticks_of(cron: Cron, zone: "ZoneInfo", day: date) -> set[datetime]:
    ticks = set[datetime]()
    for at in cron.times_from(time.min):
        here = moments(day, at, zone)
        if not cron.is_fixed:
            ticks.update(here)
        elif here:
            ticks.add(here[0])
        else:
            ticks.add(after_gap(day, at, zone))
    return ticks
