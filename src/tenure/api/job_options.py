"""The options that callers may give for one job; a duration is seconds or a timedelta."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from tenure.core.errors import InvalidInput

Duration = float | timedelta
"""Seconds, or a timedelta."""


class Options(TypedDict, total=False):
    """The options of one job; for those left out its definition decides."""

    priority: int
    queue: str
    delay: Duration
    run_at: datetime
    idempotency_key: str
    max_attempts: int
    timeout: Duration
    tags: Sequence[str]
    concurrency_keys: Sequence[str]
    hold: bool


_KNOWN = frozenset(Options.__annotations__)


def duration(field: str, value: Duration) -> timedelta:
    """A duration as a timedelta."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, f"is {value!r:.64}", "give seconds or a timedelta")
    try:
        return timedelta(seconds=value)
    except (OverflowError, ValueError):
        raise InvalidInput(field, f"is {value!r:.64}", "give seconds or a timedelta") from None


def checked(options: Options, caller: str = "enqueue") -> dict[str, Any]:
    """The options as `Spec.new_job` takes them."""
    if not options.keys() <= _KNOWN:
        unknown = options.keys() - _KNOWN
        raise TypeError(f"{caller}() got an unexpected keyword argument {min(unknown)!r}")
    given: dict[str, Any] = dict(options)
    for field in ("delay", "timeout"):
        if given.get(field) is not None:
            given[field] = duration(field, given[field])
    return given
