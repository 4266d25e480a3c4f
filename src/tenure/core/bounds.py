"""What values may be: the bounds, and the checks that hold a value against them."""

import re
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tenure.core.errors import InvalidInput

HORIZON = timedelta(days=3653)
"""The longest wait that can be asked for."""

CALENDAR = (datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC))
"""The earliest and the latest time that a job may be given."""

LARGEST_BATCH = 10_000
"""How many jobs one call may record."""

MOST_HAND_BACKS = 20
"""How often a job may be handed back before the attempt is charged."""

MOST_SUSPENSIONS = 10_000
"""How often a job may be suspended before it has failed."""

_Measure = TypeVar("_Measure", int, float, timedelta, datetime)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")


def named(field: str, value: str) -> None:
    """Refuse what is not a name."""
    if not _NAME.fullmatch(value):
        remedy = "use 1 to 120 letters, digits and . _ : - , a letter or digit first"
        raise InvalidInput(field, "is not a name", remedy)


def whole_millis(field: str, value: timedelta) -> None:
    """Refuse a length of time finer than the millisecond that stores keep."""
    if value % timedelta(milliseconds=1):
        raise InvalidInput(field, f"is {value}", "give whole milliseconds")


def within(field: str, value: _Measure, least: _Measure, most: _Measure) -> None:
    """Refuse what is not from the least to the most."""
    if not least <= value <= most:
        raise InvalidInput(field, f"is {value}", f"give a value from {least} to {most}")
