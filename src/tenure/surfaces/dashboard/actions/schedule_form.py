"""The form of a schedule: a new one, or another rule, job or policy for one that is there."""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

import msgspec
from msgspec import structs

from tenure.api.schedule_shapes import NewScheduleBody
from tenure.core.errors import InvalidInput
from tenure.core.model.job import USUAL_NAMESPACE
from tenure.core.schedule.schedule import NewSchedule, Schedule
from tenure.core.values.documents import Document
from tenure.engine.schedules.schedules import ScheduleTaken
from tenure.surfaces.dashboard.forms.reading import FieldReading, indented
from tenure.surfaces.dashboard.forms.shown import Sent, ShownField
from tenure.surfaces.dashboard.pages.addresses import SCHEDULES, schedule_address
from tenure.surfaces.dashboard.pages.schedules import name_in
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.schedule_bodies import new_schedule
from tenure.surfaces.http.calls.schedule_names import refusals

MISSED = (("one", "run the last one"), ("skip", "skip them"), ("all", "run all, at most 100"))
OVERLAP = (
    ("allow", "let both run"),
    ("skip", "skip while one runs"),
    ("queue", "wait for the one before"),
    ("cancel", "cancel the one before"),
)
_PLACES = {
    "id": "name",
    "definition": "definition",
    "definitionKey": "definition",
    "cron": "cron",
    "every": "every",
    "everySeconds": "every",
    "timezone": "timezone",
    "startsAt": "starts",
    "endsAt": "ends",
    "jitter": "jitter",
    "jitterSeconds": "jitter",
    "remaining": "remaining",
    "missed": "missed",
    "overlap": "overlap",
    "queue": "queue",
    "priority": "priority",
    "tags": "tags",
    "params": "params",
    "max_attempts": "attempts",
    "maxAttempts": "attempts",
    "timeout": "timeout",
    "namespace": "namespace",
    "timeoutSeconds": "timeout",
    "version": "version",
    "definitionVersion": "version",
}
"""The engine's names of fields, and those of bodies, by the names in the form."""


async def new(context: AppContext, request: Request) -> Response:
    """The form of a new schedule."""
    start = {"definition": request.query.get("definition", ""), "timezone": "UTC"}
    return await _form(context, request, Sent(start) if start["definition"] else Sent())


async def create(context: AppContext, request: Request) -> Response:
    """Record a schedule, or show what is wrong in its form."""
    reading = FieldReading(request.body.fields)
    reading.require("name", "write one, such as report.nightly")
    try:
        asked = await _asked(context, request, reading)
        if asked is not None:
            made = await context.client.schedules.create(asked, by=request.caller.name)
            return see_other(schedule_address(made.name))
    except ScheduleTaken:
        reading.problems["name"] = "is taken by another schedule; write another name"
    except InvalidInput as error:
        reading.refused(error, _PLACES)
    return await _form(context, request, reading.sent, status=422)


async def edit(context: AppContext, request: Request) -> Response:
    """The form of a schedule that is there."""
    async with refusals():
        known = await context.client.schedules.get(name_in(request))
    return await _form(context, request, Sent(), known)


async def change(context: AppContext, request: Request) -> Response:
    """Change a schedule, or show what is wrong in its form."""
    reading = FieldReading(request.body.fields)
    async with refusals():
        known = await context.client.schedules.get(name_in(request))
    revision = reading.whole("revision") or 0
    try:
        asked = await _asked(context, request, reading, known)
        if asked is not None:
            async with refusals():
                recounts = asked.remaining != known.remaining
                await context.client.schedules.edit(asked, revision=revision, recounts=recounts)
            return see_other(schedule_address(known.name))
    except (InvalidInput, Refusal) as error:
        if isinstance(error, Refusal) and error.kind != "revision-mismatch":
            raise
        reading.refused(error, _PLACES)
    return await _form(context, request, reading.sent, known, status=422)


def target(request: Request) -> str:
    """The name of the schedule that is created, for the audit log."""
    return FieldReading(request.body.fields).text("name") or ""


async def _asked(
    context: AppContext, request: Request, reading: FieldReading, known: Schedule | None = None
) -> NewSchedule | None:
    """The schedule that the form describes; None if something in it is wrong. Raises InvalidInput."""
    reading.require("definition", "choose what it starts")
    if not (reading.text("cron") or reading.text("every")):
        reading.problems["cron"] = "is missing, and so is an interval; write one of the two"
    values = _values(reading)
    if known and reading.text("starts") == _start_of(known):
        del values["startsAt"]  # the field has no parts of a second
    if reading.problems:
        return None
    name = known.asked.id if known else reading.text("name")
    own = known.asked.namespace if known else request.caller.namespace
    try:
        body = msgspec.convert({**values, "id": name}, NewScheduleBody)
    except msgspec.ValidationError as error:
        reading.misfit(error, _PLACES)
        return None
    now = known.asked.recurrence.starts_at if known else await context.client.schedules.now()
    asked = new_schedule(body, own or reading.text("namespace") or USUAL_NAMESPACE, request.caller.key, now)
    if known is None:
        return asked
    # What is not in the form stays; params that were left blank do, too: they may hold secrets.
    job = structs.replace(asked.job, on_lost=known.asked.job.on_lost)
    if reading.text("params") is None:
        job = structs.replace(job, params=known.asked.job.params)
    return structs.replace(asked, job=job, source=known.asked.source, is_paused=known.asked.is_paused)


def _values(reading: FieldReading) -> dict[str, Any]:
    starts, ends = reading.moment("starts"), reading.moment("ends")
    found = {
        "definitionKey": reading.text("definition"),
        "definitionVersion": reading.whole("version"),
        "cron": reading.text("cron"),
        "everySeconds": reading.seconds("every"),
        "timezone": reading.text("timezone"),
        "jitterSeconds": reading.seconds("jitter"),
        "startsAt": starts and starts.isoformat(),
        "endsAt": ends and ends.isoformat(),
        "remaining": reading.whole("remaining"),
        "params": reading.json("params"),
        "queue": reading.text("queue"),
        "priority": reading.whole("priority"),
        "tags": reading.names("tags") or None,
        "maxAttempts": reading.whole("attempts"),
        "timeoutSeconds": reading.seconds("timeout"),
        "missed": reading.text("missed"),
        "overlap": reading.text("overlap"),
        "paused": reading.is_set("paused") or None,
    }
    return {name: value for name, value in found.items() if value is not None}


async def _form(
    context: AppContext, request: Request, sent: Sent, known: Schedule | None = None, status: int = 200
) -> Response:
    keys = sorted({one.key for one in await context.client.definitions() if request.caller.knows(one.key)})
    first = not sent.values
    stands = _standing(context, known) if first and known else {}
    return render(
        request,
        "schedule_form.html",
        status=status,
        known=known,
        address=schedule_address(known.name) if known else SCHEDULES,
        problem=sent.problems.get("", ""),
        revision=sent.values.get("revision") or (known.revision if known else ""),
        main=_main(sent, stands, keys, known, request.caller.namespace),
        rules=_rules(sent, stands),
        job=_job(sent, stands),
        is_paused="paused" in sent.values,
    )


def _main(
    sent: Sent, stands: Mapping[str, str], keys: list[str], known: Schedule | None, own: str | None
) -> list[ShownField]:
    def field(name: str, label: str, **rest: Any) -> ShownField:
        return sent.field(name, label, value=stands.get(name, ""), **rest)

    choices = [("", ""), *((key, key) for key in keys)]
    if stands.get("definition") and stands["definition"] not in keys:
        choices.append((stands["definition"],) * 2)
    named = (
        []
        if known
        else [field("name", "Name", hint="required", is_required=True, placeholder="report.nightly")]
    )
    if known is None and own is None:
        named.append(field("namespace", "Namespace", hint="blank for default", placeholder="default"))
    return [
        *named,
        field("definition", "Starts", hint="a definition, required", choices=choices, is_required=True),
        field("version", "Version", hint="blank for the newest", mode="numeric"),
        field("cron", "When", hint="five fields of cron, or a word such as @daily", placeholder="0 3 * * *"),
        field("timezone", "Time zone", hint="of the times of day", placeholder="UTC"),
        field("every", "Or every", hint="an interval in place of cron, such as 15m", placeholder="15m"),
        field("starts", "From", hint="time, UTC, blank for now", type="datetime-local"),
    ]


def _rules(sent: Sent, stands: Mapping[str, str]) -> list[ShownField]:
    def field(name: str, label: str, **rest: Any) -> ShownField:
        return sent.field(name, label, value=stands.get(name, ""), **rest)

    return [
        field("missed", "Missed runs", hint="no worker was up", choices=MISSED),
        field("overlap", "Overlap", hint="the one before still runs", choices=OVERLAP),
        field("jitter", "Jitter", hint="starts later by up to, such as 30s", placeholder="none"),
        field("remaining", "Runs left", hint="blank for any number", mode="numeric"),
        field("ends", "Ends", hint="time, UTC, blank for never", type="datetime-local"),
    ]


def _job(sent: Sent, stands: Mapping[str, str]) -> list[ShownField]:
    def field(name: str, label: str, **rest: Any) -> ShownField:
        return sent.field(name, label, value=stands.get(name, ""), **rest)

    hint = 'as JSON, such as {"to": "ada"}'
    if stands.get("has_secrets"):
        hint = "not shown, since they hold secrets; blank keeps them"
    return [
        field("params", "Params", hint=hint, is_long=True),
        field("queue", "Queue", hint="blank for that of the definition"),
        field("priority", "Priority", hint="blank for that of the definition", mode="numeric"),
        field("attempts", "Attempts", hint="blank for those of the definition", mode="numeric"),
        field("timeout", "Timeout", hint="such as 90s, blank for that of the definition"),
        field("tags", "Tags", hint="with commas between them"),
    ]


def _start_of(known: Schedule) -> str:
    return f"{known.asked.recurrence.starts_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"


def _standing(context: AppContext, known: Schedule) -> dict[str, str]:
    """The fields of a schedule as it is."""
    asked, job, rule = known.asked, known.asked.job, known.asked.recurrence
    shown = context.redaction.document(job.params)
    has_secrets = Document(shown) != job.params
    texts: dict[str, Any] = {
        "definition": job.definition,
        "version": job.version,
        "cron": rule.cron,
        "timezone": rule.timezone,
        "every": rule.every and f"{rule.every.total_seconds():g}s",
        "starts": _start_of(known),
        "ends": rule.ends_at and f"{rule.ends_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
        "jitter": f"{asked.jitter.total_seconds():g}s" if asked.jitter else None,
        "missed": asked.missed.value,
        "overlap": asked.overlap.value,
        "remaining": known.remaining,
        "queue": job.queue,
        "priority": job.priority,
        "attempts": job.max_attempts,
        "timeout": job.timeout and f"{job.timeout.total_seconds():g}s",
        "tags": ", ".join(job.tags),
        "params": "" if has_secrets else indented(job.params),
        "has_secrets": has_secrets and "yes",
    }
    return {name: str(text) for name, text in texts.items() if text is not None and text is not False}
