"""Bounds of values, and the checks that enforce them."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tenure.core.errors import InvalidInput
from tenure.core.values.text import length_text

HORIZON = timedelta(days=3653)
"""The longest delay that a caller can ask for."""

CALENDAR = (datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC))
"""The earliest and the latest time that a job may be given."""

LEASE_LENGTH = (timedelta(milliseconds=1), timedelta(days=1))
"""The shortest and the longest lease."""

LARGEST_BATCH = 10_000
"""How many jobs one call may record."""

HIGHEST_PRIORITY = 32_767
"""The most urgent priority; the least urgent is its negative."""

LARGEST_LIMIT = 10_000
"""The largest number of jobs that a limit may let run at once."""

MOST_LIMITS = 10
"""How many limits one job may run under."""

MOST_TAGS = 20
"""How many tags one job may carry."""

LARGEST_PAGE = 200
"""How many jobs one page of a list may hold."""

MOST_LOOKED_AT = 100_000
"""Among how many of the newest jobs the short form of an id is looked for."""

LARGEST_SWEEP = 1_000
"""How many jobs one bulk call may change."""

LARGEST_FEED = 10_000
"""How many events one read of the feed may return."""

MOST_HAND_BACKS = 20
"""How often a job may be handed back before the attempt is charged."""

MOST_SUSPENSIONS = 10_000
"""How often a job may be suspended before it has failed."""

MOST_NOTES = 10_000
"""How many notes of its handler a job may have; steps are never limited."""

LARGEST_TRAIL = 16 * 2**20
"""How many characters of log lines and notes one call may record."""

LARGEST_LOG = 10_000
"""How many log lines one read may return."""

LONGEST_LINE = 65_536
"""How many characters one log line may have."""

LARGEST_NUMBER = 2**63 - 1
"""The largest whole number that a store can keep."""

_Measure = TypeVar("_Measure", int, float, timedelta, datetime)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,119}")


def named(field: str, value: object) -> None:
    """Refuse what is not a name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        remedy = "use 1 to 120 letters, digits and . _ : - , a letter or digit first"
        raise InvalidInput(field, "is not a name", remedy)


def whole(field: str, value: int, least: int, most: int) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    if type(value) is not int:
        raise InvalidInput(field, f"is {value!r:.64}", "give a whole number")
    within(field, value, least, most)


def distinct(field: str, values: Sequence[object], most: int) -> None:
    """Refuse too many values, or the same one twice; a string is not a list of letters."""
    if isinstance(values, str):
        raise InvalidInput(field, "is one string", "give a tuple")
    if len(values) > most:
        raise InvalidInput(field, f"has {len(values)} entries", f"give at most {most}")
    if len(set(values)) < len(values):
        raise InvalidInput(field, "has an entry twice", "give each once")


def printable(field: str, value: object, *, least: int = 0) -> None:
    """Refuse text that is too long, or contains what cannot be printed."""
    if not (isinstance(value, str) and least <= len(value) <= 255 and value.isprintable()):
        raise InvalidInput(field, f"is not {least} to 255 printable characters")


def whole_millis(field: str, value: timedelta) -> None:
    """Refuse a length of time finer than the millisecond that stores keep."""
    if value % timedelta(milliseconds=1):
        raise InvalidInput(field, f"is {length_text(value)}", "give whole milliseconds")


def within(field: str, value: _Measure, least: _Measure, most: _Measure) -> None:
    """Refuse what is not from `least` to `most`."""
    if not least <= value <= most:
        raise InvalidInput(
            field, f"is {_shown(value)}", f"give a value from {_shown(least)} to {_shown(most)}"
        )


def _shown(value: object) -> str:
    return length_text(value) if isinstance(value, timedelta) else str(value)
