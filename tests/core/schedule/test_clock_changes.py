"""Cron in time zones: every change of clocks of twenty-two zones from 2020 to 2035, minute by minute."""

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest

from tenure.core.schedule.cron_days import ClockChange
from tenure.core.schedule.recurrence import Recurrence
from tests.core.schedule.clock_changes import MINUTE, ZONES, Matches, changes, minutes, ticks
from tests.whole import IS_WHOLE

SPAN = timedelta(hours=50 if IS_WHOLE else 3)

EXPRESSIONS: dict[str, Matches] = {
    "30 2 * * *": lambda t: (t.hour, t.minute) == (2, 30),
    "0,30 2 * * *": lambda t: t.hour == 2 and t.minute in {0, 30},
    "15 0-3 * * *": lambda t: t.hour in range(4) and t.minute == 15,
    "0 0 * * *": lambda t: (t.hour, t.minute) == (0, 0),
    "59 23 * * 6": lambda t: (t.hour, t.minute, t.isoweekday()) == (23, 59, 6),
    "45 1,2,3 * * SUN": lambda t: t.hour in {1, 2, 3} and t.minute == 45 and t.isoweekday() == 7,
    "*/30 * * * *": lambda t: t.minute % 30 == 0,
    "*/20 3 * * *": lambda t: t.hour == 3 and t.minute % 20 == 0,
    "30 */2 * * *": lambda t: t.hour % 2 == 0 and t.minute == 30,
    "10 * * * 0,6": lambda t: t.minute == 10 and t.isoweekday() in {6, 7},
}


def is_fixed(expression: str) -> bool:
    minute, hour, *_ = expression.split()
    return "*" not in minute + hour


def recurrence_of(expression: str, zone: ZoneInfo) -> Recurrence:
    return Recurrence(cron=expression, timezone=zone.key, starts_at=datetime(2019, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("zone", [ZoneInfo(zone) for zone in ZONES], ids=str)
def test_around_every_change_of_clocks_it_fires_as_a_look_at_every_minute_finds(zone: ZoneInfo) -> None:
    """S1.64: cron in a time zone; a skipped time fires after the gap, a repeated one once."""
    for change in changes(zone):
        first, last = change - SPAN, change + SPAN
        walked = minutes(zone, first, last)
        for expression, matches in EXPRESSIONS.items():
            found = recurrence_of(expression, zone).ticks_after(first - MINUTE / 2)
            expected = ticks(matches, is_fixed(expression), walked)
            assert list(takewhile(last.__ge__, found)) == expected, (expression, change)
            rule = recurrence_of(expression, zone)
            assert rule.latest(3, after=first - MINUTE / 2, until=last) == expected[-3:], (expression, change)
            counted = rule.count(1_000, after=first - MINUTE / 2, before=last + MINUTE / 2)
            assert counted == len(expected), (expression, change)


@pytest.mark.parametrize(
    ("expression", "day", "marked"),
    [
        ("30 2 * * *", 29, {"01:00": ClockChange.MOVED}),
        ("0,30 2 * * *", 29, {"01:00": ClockChange.MERGED}),
        ("30 1-3 * * *", 29, {"00:30": None, "01:00": ClockChange.MOVED, "01:30": None}),
        ("0 2,3 * * *", 29, {"01:00": ClockChange.MERGED}),
        ("0 2,3 * * *", 28, {"01:00": None, "02:00": None}),
        ("*/30 2,3 * * *", 29, {"01:00": None, "01:30": None}),
    ],
)
def test_a_tick_that_a_change_of_clocks_has_moved_or_merged_is_marked(
    expression: str, day: int, marked: dict[str, ClockChange | None]
) -> None:
    """S1.64: on the spring day of Berlin, in UTC."""
    rule = recurrence_of(expression, ZoneInfo("Europe/Berlin"))
    begin = datetime(2026, 3, day, tzinfo=UTC)
    ticks = takewhile((begin + timedelta(hours=12)).__ge__, rule.ticks_after(begin))
    assert {f"{tick:%H:%M}": rule.clock_change_at(tick) for tick in ticks} == marked


def test_these_zones_change_their_clocks_often_and_in_unlike_ways() -> None:
    """So that the test above says something: half hours, midnights, pairs within weeks, none at all."""
    assert sum(1 for zone in ZONES for _ in changes(ZoneInfo(zone))) > 500


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_from_any_moment_the_next_tick_is_ahead_and_none_is_left_out(expression: str) -> None:
    """A schedule may be made or edited at any minute of a repeated hour."""
    zone = ZoneInfo("Europe/Berlin")
    change = datetime(2026, 10, 25, 1, tzinfo=UTC)
    walked = minutes(zone, change - timedelta(hours=4), change + timedelta(days=7))
    expected = ticks(EXPRESSIONS[expression], is_fixed(expression), walked)
    recurrence = recurrence_of(expression, zone)
    for past in range(-150, 150, 5):
        moment = change + past * MINUTE
        assert recurrence.next_after(moment) == next(one for one in expected if one > moment)
