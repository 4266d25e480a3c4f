"""The rules of schedules in words."""

from datetime import UTC, datetime, timedelta

import pytest

from tenure.core.schedule.recurrence import Recurrence
from tenure.surfaces.dashboard.pages.rule_text import rule_text

START = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/15 * * * *", "every 15 minutes"),
        ("0,30 * * * *", "every 30 minutes"),
        ("*/15 * * * 1-5", "every 15 minutes, weekdays"),
        ("5 * * * *", "every hour at :05"),
        ("0 */6 * * *", "every 6 hours at :00"),
        ("@daily", "every day at 00:00"),
        ("0 0,12 * * *", "every day at 00:00 and 12:00"),
        ("30 2 * * 1-5", "weekdays at 02:30"),
        ("0 4 * * 0", "Sundays at 04:00"),
        ("0 4 * * SUN,MON,WED", "Mondays, Wednesdays and Sundays at 04:00"),
        ("0 6 1 * *", "on the 1st at 06:00"),
        ("0 6 2,11,23 * *", "on the 2nd, the 11th and the 23rd at 06:00"),
        ("0 6 L * *", "on the last day of the month at 06:00"),
        # Either of the two matches, and one of them is every day.
        ("0 6 1-31 * 1-5", "every day at 06:00"),
        ("0 6 1 * 0-6", "every day at 06:00"),
        # No few words say these.
        ("*/7 * * * *", None),
        ("0 */5 * * *", None),
        ("0 9-17 * * *", None),
        ("0 6 1 * 1", None),
        ("0 6 1 1 *", None),
        ("0 6 * * 1#2", None),
    ],
)
def test_an_expression_is_told_in_words_where_they_are_few(cron: str, words: str | None) -> None:
    assert rule_text(Recurrence(cron=cron, starts_at=START)) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "every second"),
        (30, "every 30 seconds"),
        (60, "every minute"),
        (5400, "every 90 minutes"),
        (7200, "every 2 hours"),
        (172_800, "every 2 days"),
        (1.5, "every 1.5 s"),
    ],
)
def test_an_interval_is_told_in_its_largest_whole_unit(seconds: float, words: str) -> None:
    assert rule_text(Recurrence(every=timedelta(seconds=seconds), starts_at=START)) == words
