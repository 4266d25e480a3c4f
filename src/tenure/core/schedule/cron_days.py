"""The ticks of a cron expression in a time zone, day by day.

On a plain day no clock changes, nor on the day before or after: each tick is one subtraction, and days are in
order. On others every time of the day is looked at by itself, and where clocks are put back across midnight
ticks of one day may come after those of the next.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from tenure.core.schedule.cron import Cron
from tenure.core.schedule.wall_clock import after_gap, moments, shown

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


class ClockChange(StrEnum):
    """What a change of clocks makes of a tick.

    `moved`: clocks skip its time, and it comes at the first moment after the gap. `merged`: several times
    that the expression names come at this one moment.
    """

    MOVED = "moved"
    MERGED = "merged"


class DaysOfTicks:
    """The ticks of an expression by the clocks of a zone."""

    def __init__(self, cron: Cron, zone: "ZoneInfo") -> None:
        self._cron = cron
        self._zone = zone

    def next_after(self, after: datetime) -> datetime | None:
        """The first tick after a moment; None if there is none."""
        local = after.astimezone(self._zone)
        wall = self._cron.next_on_clock(local.replace(tzinfo=None))
        if wall is None:
            return None
        # Nearly always no clock changes on the way there, and then the offset is the same in both places.
        plain = (wall - (local.utcoffset() or timedelta())).replace(tzinfo=UTC)
        there = plain.astimezone(self._zone)
        is_shown = there.replace(tzinfo=None) == wall and not (self._cron.is_fixed and there.fold)
        if plain - after <= _DAY and is_shown:
            return plain
        return self._nearest(after)

    def latest(self, most: int, *, after: datetime, until: datetime) -> list[datetime]:
        """The last ticks after a moment and not after another, at most so many, in order."""
        found: list[datetime] = []
        for day in self._days_back(after, until):
            offset = self._offset_of(day)
            if offset is None:
                found += [tick for tick in self._ticks_of(day) if after < tick <= until]
                continue
            for tick in self._plain_back(day, offset, until):
                if tick <= after or len(found) >= most:
                    break
                found.append(tick)
            if len(found) >= most:  # the days before this one are over by then
                break
        return sorted(found)[-most:]

    def count(self, most: int, *, after: datetime, until: datetime) -> int:
        """How many ticks lie after a moment and not after another, counted to a bound."""
        found = 0
        for day in self._days_back(after, until):
            offset = self._offset_of(day)
            begins = datetime.combine(day, time.min, UTC) - (offset or timedelta())
            if offset is not None and after < begins and begins + _DAY <= until:
                found += self._cron.times_a_day
            elif offset is not None:
                found += sum(tick > after for tick in self._plain_back(day, offset, until))
            else:
                found += sum(after < tick <= until for tick in self._ticks_of(day))
            if found >= most:
                return most
        return found

    def clock_change_at(self, tick: datetime) -> ClockChange | None:
        """What a change of clocks has made of the times that the expression names, at a tick of it."""
        here = shown(tick, self._zone)
        if not self._cron.is_fixed or self._offset_of(here.date()) is not None:
            return None
        walls = [
            datetime.combine(day, at)
            for day in self._cron.days_back(here.date() + _DAY, here.date() - _DAY)
            for at in self._cron.times_from(time.min)
            if self._moment_of(day, at) == tick
        ]
        if len(walls) > 1:
            return ClockChange.MERGED
        return ClockChange.MOVED if walls and walls[0] != here else None

    def _nearest(self, after: datetime) -> datetime | None:
        """The first tick after a moment, with all changes of clocks.

        The search begins a day early, and looks a day further than the first tick it finds.
        """
        found: list[datetime] = []
        last_day = date.max
        for day in self._cron.days_from(shown(after, self._zone).date() - _DAY):
            if day > last_day:
                break
            offset = self._offset_of(day)
            if offset is None:
                found += [tick for tick in self._ticks_of(day) if tick > after]
                if found and last_day == date.max:
                    last_day = day + _DAY
                continue
            if found:  # all ticks of a plain day come after those of the days before it
                break
            start = max(after.replace(tzinfo=None) + offset + _MINUTE, datetime.combine(day, time.min))
            for at in self._cron.times_from(start.time()) if start.date() == day else ():
                return (datetime.combine(day, at) - offset).replace(tzinfo=UTC)
        return min(found, default=None)

    def _days_back(self, after: datetime, until: datetime) -> Iterator[date]:
        """The days whose ticks may lie between two moments, from the last one back."""
        if after >= until:
            return iter(())
        first, last = shown(after, self._zone).date(), shown(until, self._zone).date()
        return self._cron.days_back(last + _DAY, first - _DAY)

    def _plain_back(self, day: date, offset: timedelta, until: datetime) -> Iterator[datetime]:
        """The ticks of a plain day, from a moment or its end back."""
        last = until.replace(tzinfo=None) + offset
        if last.date() >= day:
            latest = last.time() if last.date() == day else time.max
            for at in self._cron.times_back(latest):
                yield (datetime.combine(day, at) - offset).replace(tzinfo=UTC)

    def _ticks_of(self, day: date) -> set[datetime]:
        offset = self._offset_of(day)
        times = self._cron.times_from(time.min)
        if offset is not None:
            return {(datetime.combine(day, at) - offset).replace(tzinfo=UTC) for at in times}
        if self._cron.is_fixed:
            return {self._moment_of(day, at) for at in times}
        return {moment for at in times for moment in moments(day, at, self._zone)}

    def _moment_of(self, day: date, at: time) -> datetime:
        """When a fixed time of a day comes: the first of two, or the first moment after the gap."""
        here = moments(day, at, self._zone)
        return here[0] if here else after_gap(day, at, self._zone)

    def _offset_of(self, day: date) -> timedelta | None:
        """By how much clocks are ahead of UTC on a plain day; None if they change around it."""
        noon = datetime.combine(day, time(12))
        around = {_offset(noon + days * _DAY, self._zone) for days in (-1.5, -0.5, 0.5, 1.5)}
        return around.pop() if len(around) == 1 else None


def _offset(wall: datetime, zone: "ZoneInfo") -> timedelta:
    return wall.replace(tzinfo=zone).utcoffset() or timedelta()
