"""The terms of a schedule that code declares, and the schedule made from them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypedDict

import msgspec

from tenure.api.job_options import Duration, duration
from tenure.core.errors import InvalidInput
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, Overlap, ScheduledJob, Source
from tenure.core.values.documents import Document

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
"""Where intervals without a start of their own begin: the same in every process and after every restart."""


class ScheduleTerms(TypedDict, total=False):
    """The terms of `definition.schedule`."""

    cron: str
    """When it fires: five fields, such as "0 3 * * 1-5", or "@hourly", "@daily", "@weekly", "@monthly".
    Default: none; it or `every` is needed."""
    every: Duration
    """How often it fires, in seconds or as a timedelta, from `starts_at` on.
    Default: none; it or `cron` is needed."""
    timezone: str
    """The zone whose clocks `cron` is read by, such as "Europe/Berlin". Default: "UTC"."""
    starts_at: datetime
    """No tick before this time; intervals count from it. Default: the start of 1970."""
    ends_at: datetime
    """No tick after this time. Default: none."""
    jitter: Duration
    """Each job starts at a moment within this time after its tick, the same on every machine. Default: 0."""
    remaining: int
    """How many ticks fire. Default: no bound."""
    missed: Literal["skip", "one", "all"]
    """What to do about ticks that were missed: fire none of them, the last one, or all, at most 100.
    Default: "one"."""
    overlap: Literal["allow", "skip", "queue", "cancel"]
    """If a job of an earlier tick has not ended: "allow" both, "skip" or "queue" the new, "cancel" the old.
    Default: "allow"."""
    queue: str
    """The queue of its jobs. Default: the definition's."""
    priority: int
    """The priority of its jobs. Default: the definition's."""
    tags: Sequence[str]
    """Tags of its jobs beside those of the definition. Default: none."""
    max_attempts: int
    """How often a job may be tried. Default: the definition's."""
    timeout: Duration
    """How long an attempt may take. Default: the definition's."""


_KINDS: dict[str, tuple[type, str]] = {
    "cron": (str, 'give five fields in a text, such as "0 3 * * *"'),
    "timezone": (str, 'give a name such as "Europe/Berlin"'),
    "starts_at": (datetime, "give a datetime with a time zone"),
    "ends_at": (datetime, "give a datetime with a time zone"),
    "queue": (str, "give a name"),
    "tags": (Sequence, "give a list of names"),
}
_RULE = ("cron", "timezone", "starts_at", "ends_at")
_JOB = ("queue", "priority", "max_attempts")


def declared(name: str, key: str, namespace: str, params: Document, terms: Mapping[str, Any]) -> bytes:
    """The schedule, encoded. Its jobs are of the newest version. Raises InvalidInput, TypeError."""
    if unknown := terms.keys() - ScheduleTerms.__annotations__.keys():
        from tenure.core.values.other_words import SCHEDULE_TERMS, unknown_option  # only mistakes need it

        raise unknown_option("schedule", min(unknown), SCHEDULE_TERMS, ScheduleTerms.__annotations__)
    _check_kinds(terms)
    job = {one: terms[one] for one in _JOB if one in terms}
    if "timeout" in terms:
        job["timeout"] = duration("timeout", terms["timeout"])
    rule = {"starts_at": BEGINNING, **{one: terms[one] for one in _RULE if one in terms}}
    if "every" in terms:
        rule["every"] = duration("every", terms["every"])
    schedule = NewSchedule(
        id=name,
        namespace=namespace,
        job=ScheduledJob(definition=key, params=params, tags=tuple(terms.get("tags", ())), **job),
        recurrence=Recurrence(**rule),
        jitter=duration("jitter", terms.get("jitter", 0)),
        remaining=terms.get("remaining"),
        missed=_word("missed", Missed, terms.get("missed", "one")),
        overlap=_word("overlap", Overlap, terms.get("overlap", "allow")),
        source=Source.CODE,
    )
    return msgspec.msgpack.encode(schedule)


def _check_kinds(terms: Mapping[str, Any]) -> None:
    """Refuse what is of another kind than its term."""
    for name, (kind, remedy) in _KINDS.items():
        if name in terms and not isinstance(terms[name], kind):
            raise InvalidInput(name, f"is {terms[name]!r:.64}", remedy)
    if isinstance(terms.get("tags"), str):
        raise InvalidInput("tags", f"is {terms['tags']!r:.64}", "give a list of names")


def _word(field: str, words: Any, given: object) -> Any:
    try:
        return words(given)
    except ValueError:
        raise InvalidInput(field, f"is {given!r:.64}", f"give one of {', '.join(words)}") from None
