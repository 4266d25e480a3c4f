"""Parts of sentences about jobs: times, durations, errors, lists."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from tenure.core.values.failure import Failure

LONGEST_ERROR = 300
"""Characters of an error in a sentence."""


def error_text(error: Failure) -> str:
    """An error on one line, cut if it is long."""
    text = f"{error.kind}: {error.message}" if error.message else error.kind
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_ERROR else line[: LONGEST_ERROR - 1] + "…"


def moment(at: datetime | None) -> str:
    """A time to the second, in UTC."""
    return "an unknown time" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def duration(length: timedelta) -> str:
    """A duration in its largest unit, rounded, and never nothing."""
    seconds = max(length.total_seconds(), 0.0)
    for unit, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= unit * 1.5:
            return f"{round(seconds / unit):,} {name}"
    return f"{max(round(seconds), 1)} s"


def counted(count: int, noun: str) -> str:
    """How many there are of something."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"


def joined(parts: Sequence[str]) -> str:
    """A list in words."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
