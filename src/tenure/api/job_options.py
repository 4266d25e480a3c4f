"""The options that callers may give for one job; a duration is seconds or a timedelta."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypedDict

from tenure.core.errors import InvalidInput
from tenure.core.values.documents import Document

Duration = float | timedelta
"""Seconds, or a timedelta."""


class Options(TypedDict, total=False):
    """The options of one job; for those left out its definition decides."""

    priority: int
    """From -32767 to 32767, higher first. Default: the definition's."""
    queue: str
    """The queue in which it waits. Default: the definition's."""
    delay: Duration
    """How long to wait before it may run, in seconds or as a timedelta. Default: it may run at once."""
    run_at: datetime
    """The time from which it may run, with its time zone; not together with `delay`.
    Default: it may run at once."""
    idempotency_key: str
    """Your own name for this request: a second job of the definition with the same key is the first one.
    Default: none, so each call makes a job."""
    max_attempts: int
    """How often it may be tried. Default: the definition's."""
    timeout: Duration
    """How long an attempt may take, in seconds or as a timedelta. Default: the definition's."""
    tags: Sequence[str]
    """Names by which it can be found, beside those of the definition. Default: none."""
    concurrency_keys: Sequence[str]
    """Under which keys the definition's `concurrency` counts it.
    Default: what its `concurrency_key` finds."""
    hold: bool
    """Record it without letting it run; `job.accept()` lets it run. Default: False."""


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


def checked(options: Options, caller: str = "enqueue", schema: Document | None = None) -> dict[str, Any]:
    """The options as `Spec.new_job` takes them; with the params' `schema`, params among them are known."""
    if not options.keys() <= _KNOWN:
        raise _unknown(caller, sorted(options.keys() - _KNOWN), schema)
    given: dict[str, Any] = dict(options)
    for field in ("delay", "timeout"):
        if given.get(field) is not None:
            given[field] = duration(field, given[field])
    _require_datetime(given.get("run_at"))
    return given


class NewTime(TypedDict):
    """Another time for a job: one of the two."""

    run_at: datetime | None
    delay: timedelta | None


def new_time(run_at: datetime | None, delay: Duration | None) -> NewTime:
    """Another time for a job that waits. Raises InvalidInput unless one of the two is given."""
    if run_at is None and delay is None:
        raise InvalidInput("run_at", "is missing", "give it, or delay=; delay=0 means now")
    _require_datetime(run_at)
    return {"run_at": run_at, "delay": None if delay is None else duration("delay", delay)}


def _require_datetime(run_at: object) -> None:
    if run_at is not None and not isinstance(run_at, datetime):
        problem, remedy = f"is {run_at!r:.64}", "give an aware datetime; delay= takes seconds"
        raise InvalidInput("run_at", problem, remedy)


def several_params(count: int, schema: Document) -> TypeError:
    """The error for params that were given as several arguments in place of one object."""
    from tenure.core.values.other_words import positional_params

    described = json.loads(schema)
    return positional_params("enqueue", count, list(described.get("properties", {})), described.get("title"))


def _unknown(caller: str, names: list[str], schema: Document | None) -> TypeError:
    # Not at the top: only mistakes need it.
    from tenure.core.values.other_words import OPTIONS, keyword_params, unknown_option

    described = {} if schema is None else json.loads(schema)
    if params := [name for name in names if name in described.get("properties", {})]:
        return keyword_params(caller, params, described.get("title"))
    return unknown_option(caller, names[0], OPTIONS, _KNOWN)
