"""Recurrences: intervals, bounds, what is refused, and the last ticks of a span."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.schedule.jitter import jitter_of
from tenure.core.schedule.recurrence import Recurrence

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_an_interval_counts_from_its_start_however_late_it_is_asked() -> None:
    """S4.28: a repeated task keeps its rhythm."""
    recurrence = Recurrence(every=timedelta(seconds=90), starts_at=START)
    assert recurrence.next_after(START - timedelta(days=9)) == START
    assert recurrence.next_after(START) == START + 90 * SECOND
    assert recurrence.next_after(START + 91 * SECOND) == START + 180 * SECOND


def test_no_tick_lies_outside_start_and_end() -> None:
    recurrence = Recurrence(cron="0 * * * *", starts_at=START, ends_at=START + timedelta(hours=2))
    ticks = list(recurrence.ticks_after(START - timedelta(days=2)))
    assert ticks == [START, START + timedelta(hours=1), START + timedelta(hours=2)]


@pytest.mark.parametrize("cron", ["* * * * *", "0 3 * * *", "0 0 29 2 *", "*/7 * 1 1 *"])
def test_the_last_ticks_of_a_span_are_those_that_going_through_it_finds(cron: str) -> None:
    recurrence = Recurrence(cron=cron, timezone="America/New_York", starts_at=START)
    until = START + timedelta(days=400 if cron != "* * * * *" else 2, seconds=5)
    everything = [tick for tick in islice(recurrence.ticks_after(START), 5_000) if tick <= until]
    assert recurrence.latest(3, after=START, until=until) == everything[-3:]
    assert recurrence.latest(1, after=until, until=until) == []


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({}, "cron: is missing, and so is an interval"),
        ({"cron": "@daily", "every": SECOND}, "beside an interval"),
        ({"every": timedelta()}, "every: is 0 s; give a value from 1 s to 3,653 days"),
        ({"every": -SECOND}, "give a value from"),
        ({"every": timedelta(microseconds=1)}, "give a value from"),
        ({"every": timedelta(seconds=1, microseconds=1)}, "whole milliseconds"),
        ({"every": timedelta(days=40_000)}, "give a value from"),
        ({"cron": "@daily", "timezone": "Europe/Berlinn"}, "did you mean Europe/Berlin?"),
        ({"cron": "@daily", "timezone": "berlin"}, "did you mean Europe/Berlin?"),
        ({"cron": "@daily", "timezone": "US/New York"}, "did you mean America/New_York?"),
        ({"cron": "@daily", "timezone": "Nope/Nope"}, "give a name such as"),
        ({"cron": "@daily", "timezone": "localtime"}, "differs from machine to machine"),
        ({"cron": "@daily", "timezone": "../../etc/passwd"}, "is not a time zone"),
        ({"cron": "@daily", "timezone": "x" * 10_000}, "is not a time zone"),
        ({"cron": "@daily", "ends_at": START - SECOND}, "endsAt: is before the start at "),
        ({"cron": "@daily", "ends_at": datetime(2030, 1, 1)}, "endsAt: has no time zone"),  # noqa: DTZ001
    ],
)
def test_what_makes_no_sense_is_refused(terms: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Recurrence(starts_at=START, **terms)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


def test_jitter_is_the_same_everywhere_spread_and_below_its_bounds() -> None:
    """Every node computes it from the schedule and the tick alone."""
    most = timedelta(seconds=30)
    ticks = [START + n * timedelta(minutes=1) for n in range(200)]
    delays = [jitter_of("nightly", tick, most, tick + timedelta(minutes=1)) for tick in ticks]
    assert all(timedelta() <= delay < most for delay in delays)
    assert len(set(delays)) > 150
    assert max(delays) - min(delays) > timedelta(seconds=25)
    assert jitter_of("nightly", START, most, START + SECOND) < SECOND
    assert jitter_of("nightly", START, timedelta(), None) == timedelta()
    assert jitter_of("weekly", START, most, None) != jitter_of("nightly", START, most, None)
