"""Lengths of time, as sentences have them."""

from datetime import timedelta

import pytest

from tenure.core.values.text import length_text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(), "0 s"),
        (timedelta(seconds=5), "5 s"),
        (timedelta(milliseconds=-1500), "-1.5 s"),
        (timedelta(microseconds=1), "0.000001 s"),
        (timedelta(minutes=15), "15 min"),
        (timedelta(days=1, hours=2, seconds=0.25), "1 day 2 h 0.25 s"),
        (timedelta(days=30), "30 days"),
        (timedelta(days=3_653), "3,653 days"),
    ],
)
def test_a_length_of_time_is_told_in_whole_and_in_words(length: timedelta, text: str) -> None:
    assert length_text(length) == text
