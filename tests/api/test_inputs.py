"""Text that people and programs write is read strictly, and one way only."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tenure.api.inputs import bound, duration, job_id, moment
from tenure.core.errors import InvalidInput

ID = "0199a3f2-7c1e-7abc-8def-0123456789ab"


def test_an_id_is_read_in_full() -> None:
    assert job_id(ID) == UUID(ID)
    assert job_id(ID.upper()) == UUID(ID)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "' OR 1=1--",
        ID.replace("-", ""),
        f"{{{ID}}}",
        f"urn:uuid:{ID}",
        f" {ID}",
        f"{ID}\n",
        ID.replace("0", "٠"),
        ID[:-1],
        "x" * 10_240,
    ],
)
def test_whatever_else_python_takes_for_an_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        job_id(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2030-01-31T08:30:00Z", datetime(2030, 1, 31, 8, 30, tzinfo=UTC)),
        ("2030-01-31t08:30:00.25z", datetime(2030, 1, 31, 8, 30, 0, 250_000, tzinfo=UTC)),
        ("2030-01-31 10:30:00+02:00", datetime(2030, 1, 31, 8, 30, tzinfo=UTC)),
        ("2028-02-29T00:00:00-00:30", datetime(2028, 2, 29, 0, 30, tzinfo=UTC)),
    ],
)
def test_a_moment_has_a_date_a_time_and_a_zone(text: str, read: datetime) -> None:
    assert moment(text) == bound(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("0001-01-01T00:00:00+23:59", datetime(1970, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59-23:59", datetime(3000, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_bound_beyond_all_jobs_is_as_good_as_the_end_of_the_calendar(text: str, read: datetime) -> None:
    assert bound(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "1900000000",
        "2030-01-31",
        "2030-01-31T08:30Z",
        "2030-01-31T08:30:00",
        "2030-02-30T08:30:00Z",
        "2030-01-31T08:30:60Z",
        "2030-01-31T24:00:00Z",
        "2030-01-31T08:30:00+25:00",
        "2030-W05-4T08:30:00Z",
        "20300131T083000Z",
        "2030-01-31T08:30:00Z\n",
        "٢030-01-31T08:30:00Z",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        moment(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("90", 90), ("0.25", 0.25), ("90s", 90), ("15m", 900), ("2h", 7200)]
)
def test_a_duration_is_in_seconds_or_has_a_unit(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "-1", "1e3", "nan", "1_000", "1 h", "2w", "h", "3654d", "9" * 400])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        duration(text)
