"""Ticks that are due: which fire, which are missed, and which comes next."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from tenure.core.schedule.backlog import MOST_AT_ONCE, MOST_COUNTED, Gap, Missed, due
from tenure.core.schedule.recurrence import Recurrence

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)
MINUTELY = Recurrence(cron="* * * * *", starts_at=START)


def at(minutes: float) -> datetime:
    return START + minutes * MINUTE


@pytest.mark.parametrize("missed", list(Missed))
def test_a_tick_in_time_fires_and_nothing_is_missed(missed: Missed) -> None:
    """S1.66: the policy is about missed ticks alone."""
    judged = due(MINUTELY, START, START + 29 * SECOND, missed)
    assert (judged.fires, judged.gap, judged.next_at) == ((START,), None, at(1))


@pytest.mark.parametrize(
    ("missed", "fires", "gap"),
    [
        (Missed.SKIP, (), Gap(START, at(3), 4)),
        (Missed.ONE, (at(3),), Gap(START, at(2), 3)),
        (Missed.ALL, (START, at(1), at(2), at(3)), None),
    ],
)
def test_what_fires_after_an_outage_is_said_by_the_policy(
    missed: Missed, fires: tuple[datetime, ...], gap: Gap | None
) -> None:
    """S1.66: none, the last, or all; the others are on record."""
    judged = due(MINUTELY, START, at(3.75), missed)
    assert (judged.fires, judged.gap, judged.next_at) == (fires, gap, at(4))


def test_the_last_tick_is_not_missed_within_its_grace_although_earlier_ones_are() -> None:
    """S1.66: after a restart of a moment, a schedule that skips goes on with the tick of now."""
    judged = due(MINUTELY, START, at(3) + 30 * SECOND, Missed.SKIP)
    assert (judged.fires, judged.gap) == ((at(3),), Gap(START, at(2), 3))
    every_ten = Recurrence(every=10 * SECOND, starts_at=START)
    assert due(every_ten, START, START + 55 * SECOND, Missed.SKIP).fires == (START + 50 * SECOND,)
    assert due(every_ten, START, START + 56 * SECOND, Missed.SKIP).fires == ()


def test_a_long_gap_is_bounded_in_what_fires_and_in_what_is_counted() -> None:
    """S1.66: a year of minutes neither floods the queue nor takes long to note."""
    year = at(60 * 24 * 365)
    judged = due(MINUTELY, START, year, Missed.ALL)
    assert len(judged.fires) == MOST_AT_ONCE
    assert judged.fires[-1] == year
    assert judged.gap == Gap(START, year - MOST_AT_ONCE * MINUTE, MOST_COUNTED)
    assert judged.next_at == year + MINUTE


@pytest.mark.parametrize("missed", list(Missed))
@pytest.mark.parametrize("cron", ["* * * * 1", "* * * * *", "*/2 1 * * 1-5"])
def test_a_long_absence_is_judged_day_by_day(cron: str, missed: Missed) -> None:
    """S1.66: by steps that are counted here, since the duty has other schedules to look after."""
    rule = Recurrence(cron=cron, timezone="Europe/Berlin", starts_at=START - timedelta(days=400))
    expected = rule.next_after(START - timedelta(days=60))
    assert expected is not None
    steps = 0

    def step(_frame: object, event: str, _arg: object) -> None:
        nonlocal steps
        steps += event == "call"

    sys.setprofile(step)
    try:
        judged = due(rule, expected, START, missed)
    finally:
        sys.setprofile(None)
    assert judged.gap is not None
    assert judged.gap.count == MOST_COUNTED
    assert steps < 6_000


def test_a_tick_of_an_earlier_rule_that_is_due_fires_once_and_the_new_rule_goes_on() -> None:
    """An edit never loses a tick that is due."""
    hourly = Recurrence(cron="0 * * * *", starts_at=START)
    judged = due(hourly, at(7), at(7.1), Missed.ONE)
    assert (judged.fires, judged.gap, judged.next_at) == ((at(7),), None, at(60))


def test_the_end_is_the_end() -> None:
    ending = Recurrence(cron="* * * * *", starts_at=START, ends_at=at(2))
    judged = due(ending, at(1), at(30), Missed.ONE)
    assert (judged.fires, judged.gap, judged.next_at) == ((at(2),), Gap(at(1), at(1), 1), None)


def test_a_tick_of_an_earlier_rule_is_noted_when_the_new_one_has_ticks_since() -> None:
    """S1.66: fired or noted, but never forgotten."""
    often = Recurrence(every=10 * SECOND, starts_at=START + 5 * SECOND)
    judged = due(often, START, START + 26 * SECOND, Missed.ONE)
    assert judged.fires == (START + 25 * SECOND,)
    assert judged.gap == Gap(START, START + 15 * SECOND, 3)
    assert due(often, START, START + 26 * SECOND, Missed.ALL).fires[0] == START
