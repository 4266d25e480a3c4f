"""The ticks of a schedule: by a cron expression in a time zone, or by an interval from a fixed start.

Clocks change twice a year. An expression that names times of the day (neither minute nor hour begins with
``*``) fires once for each: at the first moment after the gap if clocks skip the time, at the first of two if
they show it twice. An expression with a rhythm, such as ``*/30 * * * *``, fires whenever clocks show a
matching time: in both passes of a repeated hour, not in a skipped one. Intervals do not look at clocks.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.schedule.cron import parse
from tenure.core.schedule.cron_days import ClockChange, DaysOfTicks
from tenure.core.schedule.wall_clock import zone_named
from tenure.core.values.bounds import CALENDAR, HORIZON, whole_millis, within

SHORTEST_INTERVAL = timedelta(seconds=1)
_INSTANT = timedelta(microseconds=1)


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
        if self.cron is not None and self.every is not None:
            raise InvalidInput("cron", "is given beside an interval", "give one of the two, by its name")
        if self.cron is None and self.every is None:
            raise InvalidInput(
                "cron", "is missing, and so is an interval", "give one of the two, by its name"
            )
        zone_named(self.timezone)
        for field, moment in (("startsAt", self.starts_at), ("endsAt", self.ends_at)):
            if moment is not None:
                if moment.tzinfo is None:
                    raise InvalidInput(field, "has no time zone", "give one, such as 2026-01-31T09:00:00Z")
                within(field, moment, *CALENDAR)
        if self.ends_at is not None and self.ends_at < self.starts_at:
            start = self.starts_at.astimezone(UTC).isoformat(timespec="seconds")
            raise InvalidInput("endsAt", f"is before the start at {start}", "give a later one")
        if self.every is not None:
            within("every", self.every, SHORTEST_INTERVAL, HORIZON)
            whole_millis("every", self.every)
        else:
            parse(self.cron or "")

    def next_after(self, moment: datetime) -> datetime | None:
        """The first tick after a moment; None if there is none."""
        after = max(moment.astimezone(UTC), self.starts_at.astimezone(UTC) - _INSTANT)
        if self.every is not None:
            start = self.starts_at.astimezone(UTC)
            found: datetime | None = start + ((after - start) // self.every + 1) * self.every
        else:
            found = DaysOfTicks(parse(self.cron or ""), zone_named(self.timezone)).next_after(after)
        if found is None or found > (self.ends_at or CALENDAR[1]):
            return None
        return found

    def latest(self, most: int, *, after: datetime, until: datetime) -> list[datetime]:
        """The last ticks after a moment and not after another, at most so many, in order."""
        after, until = self._within(after, until)
        if self.every is not None:
            start = self.starts_at.astimezone(UTC)
            last = (until - start) // self.every
            first = max((after - start) // self.every + 1, last - most + 1)
            return [start + n * self.every for n in range(first, last + 1)]
        days = DaysOfTicks(parse(self.cron or ""), zone_named(self.timezone))
        return days.latest(most, after=after, until=until)

    def count(self, most: int, *, after: datetime, before: datetime) -> int:
        """How many ticks there are between two moments, counted to a bound."""
        after, until = self._within(after, before - _INSTANT)
        if self.every is not None:
            start = self.starts_at.astimezone(UTC)
            return max(0, min(most, (until - start) // self.every - (after - start) // self.every))
        days = DaysOfTicks(parse(self.cron or ""), zone_named(self.timezone))
        return days.count(most, after=after, until=until)

    def clock_change_at(self, tick: datetime) -> ClockChange | None:
        """What a change of clocks has made of the times of day that the expression names, at a tick."""
        if self.cron is None:
            return None
        return DaysOfTicks(parse(self.cron), zone_named(self.timezone)).clock_change_at(tick)

    def _within(self, after: datetime, until: datetime) -> tuple[datetime, datetime]:
        """The part of a span in which there may be ticks."""
        last = until if self.ends_at is None else min(until, self.ends_at)
        return max(after, self.starts_at - _INSTANT).astimezone(UTC), last.astimezone(UTC)

    def ticks_after(self, moment: datetime) -> Iterator[datetime]:
        """All ticks after a moment, in order."""
        tick = self.next_after(moment)
        while tick is not None:
            yield tick
            tick = self.next_after(tick)
