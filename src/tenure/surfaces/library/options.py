"""What callers may say, in the forms they write it: seconds or timedelta, classes or names, 512M."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from tenure.core.errors import InvalidInput
from tenure.core.policy import RetryPolicy
from tenure.core.retry import qualified_name

Duration = float | timedelta
"""Seconds, or a timedelta."""

_SIZE = re.compile(r"([0-9]+) ?([KMG])(?:i?B)?")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


class Options(TypedDict, total=False):
    """What may be said of one job; what is left out is as its definition says."""

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


def backoff(base: Duration = 1, cap: Duration = 300) -> RetryPolicy:
    """When to try again: after about `base` times 2, 4, 8 … and a little at random, at most `cap`."""
    return RetryPolicy(base=duration("base", base), cap=duration("cap", cap))


def duration(field: str, value: Duration) -> timedelta:
    """A length of time that was given in seconds or as a timedelta."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(field, f"is {value!r:.64}", "give seconds or a timedelta")
    try:
        return timedelta(seconds=value)
    except (OverflowError, ValueError):
        raise InvalidInput(field, f"is {value!r:.64}", "give seconds or a timedelta") from None


def memory_size(value: int | str | None) -> int | None:
    """Bytes, from a number or a text such as 512M."""
    if not isinstance(value, str):
        return value
    if not (found := _SIZE.fullmatch(value.strip())):
        raise InvalidInput("memory", f"is {value!r:.64}", 'give bytes, or a text such as "512M"')
    return int(found[1]) * _UNITS[found[2]]


def exception_names(field: str, kinds: Iterable[type[BaseException] | str]) -> tuple[str, ...]:
    """Exceptions by the names that a policy knows them by; a name may be given as well."""
    if isinstance(kinds, type | str):
        kinds = (kinds,)
    names = []
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, BaseException):
            names.append(qualified_name(kind))
        elif isinstance(kind, str):
            names.append(kind)
        else:
            raise InvalidInput(field, f"holds {kind!r:.64}", "give classes of exceptions, or their names")
    return tuple(dict.fromkeys(names))


def checked(options: Options, caller: str = "enqueue") -> dict[str, Any]:
    """The options as `Spec.new_job` takes them."""
    if not options.keys() <= _KNOWN:
        unknown = options.keys() - _KNOWN
        raise TypeError(f"{caller}() got an unexpected keyword argument {min(unknown)!r}")
    asked: dict[str, Any] = dict(options)
    for field in ("delay", "timeout"):
        if asked.get(field) is not None:
            asked[field] = duration(field, asked[field])
    return asked
