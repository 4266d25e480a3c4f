"""From bodies about schedules to what the engine takes."""

from datetime import datetime, timedelta
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from tenure.api import inputs
from tenure.api.schedule_shapes import NewScheduleBody, ScheduleChange
from tenure.core.errors import InvalidInput
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import NewSchedule, Overlap, ScheduledJob
from tenure.surfaces.http.calls.intent import document


def new_schedule(body: NewScheduleBody, namespace: str, creator: str | None, now: datetime) -> NewSchedule:
    """The schedule that a body asks for; without a start it begins now. Raises InvalidInput."""
    rule = {"cron": None, "every": None, "starts_at": now, **_rule(body)}
    return NewSchedule(
        id=body.id,
        namespace=namespace,
        job=ScheduledJob(**{"definition": body.definition_key, **_job(body)}),
        recurrence=Recurrence(**rule),
        creator=creator,
        is_paused=body.paused,
        **_rest(body),
    )


def changed_schedule(known: NewSchedule, body: ScheduleChange, creator: str | None) -> NewSchedule:
    """A schedule with what a body changes. Raises InvalidInput."""
    rule = _rule(body)
    if "cron" in rule and "every" in rule:
        raise InvalidInput("cron", "is given beside an interval", "give one of them")
    if "cron" in rule:
        rule["every"] = None
    elif "every" in rule:
        rule["cron"] = None
    return replace(
        known,
        job=replace(known.job, **_job(body)),
        recurrence=replace(known.recurrence, **rule),
        creator=creator,
        **_rest(body),
    )


def _job(body: ScheduleChange) -> dict[str, Any]:
    sent: dict[str, Any] = {
        "definition": body.definition_key,
        "version": body.definition_version,
        "queue": body.queue,
        "priority": body.priority,
        "tags": body.tags,
        "max_attempts": body.max_attempts,
    }
    found = {name: value for name, value in sent.items() if value is not UNSET}
    if body.params is not UNSET:
        found["params"] = document(body.params, "/params")
    if body.timeout_seconds is not UNSET:
        found["timeout"] = span(body.timeout_seconds)
    return found


def _rule(body: ScheduleChange) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if body.cron is not UNSET:
        found["cron"] = body.cron
    if body.every_seconds is not UNSET:
        found["every"] = span(body.every_seconds)
    if body.timezone is not UNSET:
        found["timezone"] = body.timezone
    if body.starts_at is not UNSET:
        found["starts_at"] = moment_in("startsAt", body.starts_at)
    if body.ends_at is not UNSET:
        found["ends_at"] = None if body.ends_at is None else moment_in("endsAt", body.ends_at)
    return found


def _rest(body: ScheduleChange) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if body.jitter_seconds is not UNSET:
        found["jitter"] = span(body.jitter_seconds)
    if body.remaining is not UNSET:
        found["remaining"] = body.remaining
    if body.missed is not UNSET:
        found["missed"] = Missed(body.missed)
    if body.overlap is not UNSET:
        found["overlap"] = Overlap(body.overlap)
    return found


def span(seconds: Any) -> timedelta | None:
    """A duration in a body, to the millisecond."""
    return None if seconds is None else timedelta(milliseconds=round(seconds * 1000))


def moment_in(field: str, text: Any) -> datetime:
    """A time in a body. Raises InvalidInput, which names the field."""
    try:
        return inputs.moment(text)
    except InvalidInput as error:
        raise InvalidInput(field, error.problem, error.remedy) from None
