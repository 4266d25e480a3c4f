"""Parses text from people and programs: ids, times, durations. Strict: each has one form only."""

import re
from datetime import datetime, timedelta
from uuid import UUID

from tenure.core.errors import InvalidInput
from tenure.core.values.bounds import CALENDAR, HORIZON

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def is_job_id(text: str) -> bool:
    """Whether a text is the full id of a job."""
    return _ID.fullmatch(text) is not None


def job_id(text: str) -> UUID:
    """The full id of a job. `UUID` alone would also accept braces, prefixes and missing hyphens."""
    if not is_job_id(text):
        raise InvalidInput("job", f"is {text!r:.64}", "give the full id of a job, 36 characters")
    return UUID(text)


def moment(text: str) -> datetime:
    """A point in time in the form of RFC 3339, with its time zone."""
    found = _MOMENT.fullmatch(text)
    if not found:
        raise InvalidInput("time", f"is {text!r:.64}", "write one such as 2030-01-31T08:30:00Z")
    if not found[1]:
        raise InvalidInput("time", "has no time zone", "add Z, or an offset such as +02:00")
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise InvalidInput("time", f"is no date of the calendar: {error}") from None


def bound(text: str) -> datetime:
    """A point in time to compare jobs with. Beyond the calendar all are equal, so it is clamped to that."""
    earliest, latest = CALENDAR
    return min(max(moment(text), earliest), latest)


def end(text: str) -> datetime | timedelta:
    """When something ends: a point in time, or a plus sign and how long it lasts."""
    return duration(text[1:]) if text.startswith("+") else moment(text)


def duration(text: str) -> timedelta:
    """A duration: a number of seconds, or a number with its unit."""
    found = _DURATION.fullmatch(text)
    if not found:
        raise InvalidInput("duration", f"is {text!r:.64}", "write seconds, or one such as 90s, 15m, 2h or 7d")
    seconds = float(found[1]) * _UNITS[found[2]]
    if seconds > HORIZON.total_seconds():
        raise InvalidInput("duration", f"is {text!r:.64}", f"give at most {HORIZON.days}d")
    return timedelta(seconds=seconds)
