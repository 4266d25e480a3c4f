"""Starts a job from the form of its definition; what is wrong comes back beside its field."""

from datetime import timedelta

from tenure.api.definition_views import Defined
from tenure.core.errors import IdempotencyConflict, InvalidInput, InvalidParams, NoRoom
from tenure.core.model.job import NewJob
from tenure.core.values.documents import Document
from tenure.surfaces.dashboard.definitions.one import page_of, start_form, versions_of
from tenure.surfaces.dashboard.forms.posted import (
    AS_JSON,
    PREFIX,
    Posted,
    as_json,
    from_fields,
    from_json,
    names_of,
    place_of,
)
from tenure.surfaces.dashboard.forms.reading import FieldReading
from tenure.surfaces.dashboard.forms.schema_fields import form_of
from tenure.surfaces.dashboard.forms.shown import Sent
from tenure.surfaces.dashboard.pages.addresses import job_address
from tenure.surfaces.dashboard.renderer import see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response

_FIELDS = f"{PREFIX}/"
OPTIONS = ("queue", "priority", "delay", "key", "tags")
_PLACES = {
    "queue": "queue",
    "priority": "priority",
    "delay": "delay",
    "tags": "tags",
    "key": "key",
    "idempotency_key": "key",
    "idempotencyKey": "key",
    "time": "delay",
}


async def start(context: AppContext, request: Request) -> Response:
    """Start a job, or show the form again with what is wrong; with `as` the same form in its other shape."""
    found = await versions_of(context, request)
    defined, fields = found[0], request.body.fields
    options = FieldReading({name: texts for name, texts in fields.items() if name in OPTIONS})
    values = {name: texts[0] for name, texts in fields.items() if name == AS_JSON or name.startswith(_FIELDS)}
    parts = form_of(defined.spec.params_schema)
    is_json = AS_JSON in fields or "as_json" in fields or parts is None
    if "as_json" in fields and parts is not None and AS_JSON not in fields:
        text = as_json(parts, values)
        form = start_form(defined, Sent(), options.sent, is_json=True, text=text)
        return await page_of(context, request, found, form)
    posted = from_json(values.get(AS_JSON, "")) if is_json or parts is None else from_fields(parts, values)
    job = _job(defined, posted, options, request)
    problems = dict(posted.problems)
    if job is not None:
        try:
            [made] = await context.client.enqueue([job])
            return see_other(job_address(made.id))
        except InvalidParams as error:
            known = names_of(None if is_json else parts)
            for pointer, told in error.problems:
                _add(problems, place_of(pointer, known), pointer, told)
        except IdempotencyConflict as error:
            options.problems["key"] = f"was used for another job, {error.job}; write a new one, or none"
        except NoRoom as error:
            problems[""] = f"{error}; nothing was started"
        except InvalidInput as error:
            options.refused(error, _PLACES)
    sent = Sent(posted.values or {AS_JSON: ""} if is_json else posted.values, problems)
    form = start_form(defined, sent, options.sent, is_json=is_json)
    return await page_of(context, request, found, form, status=422)


def _job(defined: Defined, posted: Posted, options: FieldReading, request: Request) -> NewJob | None:
    """The job that the form asks for; None if something in it is wrong."""
    priority, delay = options.whole("priority"), options.seconds("delay")
    if options.problems or posted.document is None:
        return None
    try:
        return defined.spec.new_job(
            Document(posted.document),
            queue=options.text("queue"),
            priority=priority,
            delay=None if delay is None else timedelta(seconds=delay),
            tags=options.names("tags"),
            idempotency_key=options.text("key"),
            **request.marks,
        )
    except InvalidInput as error:
        options.refused(error, _PLACES)
        return None


def _add(problems: dict[str, str], place: str, pointer: str, told: str) -> None:
    """Put a problem beside its field; where that has one already, or there is none, with its place."""
    text = told if place and place != AS_JSON else f"{pointer.removeprefix('/')} {told}".strip()
    problems[place] = f"{problems[place]}; {text}" if place in problems else text
