"""The form of a webhook: where which events of which jobs are sent."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.api.webhook_shapes import NewWebhookBody
from tenure.core.errors import InvalidInput
from tenure.core.webhooks.address import host_in
from tenure.core.webhooks.webhook import GROUPS, Webhook
from tenure.surfaces.dashboard.actions.webhook_buttons import secret_page
from tenure.surfaces.dashboard.forms.reading import FieldReading
from tenure.surfaces.dashboard.forms.shown import Sent, ShownField
from tenure.surfaces.dashboard.pages.addresses import WEBHOOKS, webhook_address
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.calls.webhook_bodies import changed_webhook, new_webhook, refusals, webhook_of

EVENTS = (
    ("onStart", "a job starts"),
    ("onSuccess", "a job has succeeded"),
    ("onFail", "a job has failed"),
    ("onEnd", "a job has ended"),
)
_YES_NO = (("", "no"), ("true", "yes"))
_SAME = ("url", "events", "definitions", "queues", "tags", "tries", "since", "namespace", "timeout")
_PLACES = {
    **dict(zip(_SAME, _SAME, strict=True)),
    "timeoutSeconds": "timeout",
    "time": "since",
    "with_params": "with_params",
    "withParams": "with_params",
    "withResult": "with_result",
    "with_result": "with_result",
}
"""The engine's names of fields, and those of bodies, by the names in the form."""


async def new(_context: AppContext, request: Request) -> Response:
    """The form of a new webhook."""
    return _form(request, Sent(), {"events": "onEnd", "definitions": request.query.get("definition", "")})


async def create(context: AppContext, request: Request) -> Response:
    """Record a webhook and show its secret, this once; or show what is wrong in its form."""
    reading = FieldReading(request.body.fields)
    body = _body(reading)
    if body is not None:
        try:
            made = await context.client.webhooks.create(
                new_webhook(body, request),
                since=reading.moment("since"),
                paused_by=request.caller.name if reading.is_set("paused") else None,
            )
            return secret_page(context, request, made, is_new=True)
        except InvalidInput as error:
            reading.refused(error, _PLACES)
    return _form(request, reading.sent, {}, status=422)


async def edit(context: AppContext, request: Request) -> Response:
    """The form of a webhook that is there."""
    known = await webhook_of(context, request)
    return _form(request, Sent(), _standing(context, known), known)


async def change(context: AppContext, request: Request) -> Response:
    """Change a webhook, or show what is wrong in its form."""
    known = await webhook_of(context, request)
    reading = FieldReading(request.body.fields)
    body = _body(reading, known)
    if body is not None:
        try:
            changed = changed_webhook(known.asked, body, request.caller.key)
            async with refusals():
                revision = reading.whole("revision") or 0
                await context.client.webhooks.edit(known, changed, revision=revision)
            return see_other(webhook_address(known.id))
        except (InvalidInput, Refusal) as error:
            if isinstance(error, Refusal) and error.kind != "revision-mismatch":
                raise
            reading.refused(error, _PLACES)
    return _form(request, reading.sent, _standing(context, known), known, status=422)


def target(request: Request) -> str:
    """The host that a webhook is created for, for the audit log: the rest of the URL may be a secret."""
    return host_in(FieldReading(request.body.fields).text("url") or "")


def _body(reading: FieldReading, known: Webhook | None = None) -> NewWebhookBody | None:
    """What the form asks for; None if something in it is wrong."""
    url = reading.text("url") or (known and known.asked.url)
    if url is None:
        reading.require("url", "write the address of a server of yours, such as https://example.com/hooks")
    events = (*reading.chosen("events"), *reading.names("types"))
    if not events:
        reading.problems["events"] = "are missing; tick one or more, or write types"
    found = {
        "url": url,
        "events": events,
        "definitions": reading.names("definitions"),
        "queues": reading.names("queues"),
        "tags": reading.names("tags"),
        "withParams": reading.is_set("with_params"),
        "withResult": reading.is_set("with_result"),
        "tries": reading.whole("tries"),
        "timeoutSeconds": reading.seconds("timeout"),
        "namespace": reading.text("namespace"),
    }
    reading.moment("since")
    if reading.problems:
        return None
    try:
        given = {name: value for name, value in found.items() if value is not None}
        return msgspec.convert(given, NewWebhookBody)
    except msgspec.ValidationError as error:
        reading.misfit(error, _PLACES)
        return None


def _form(
    request: Request, sent: Sent, stands: Mapping[str, str], known: Webhook | None = None, status: int = 200
) -> Response:

    def field(name: str, label: str, **rest: Any) -> ShownField:
        return sent.field(name, label, value=stands.get(name, ""), **rest)

    hint = "blank keeps it, since it holds a secret" if stands.get("has_secrets") else "required"
    example = "https://example.com/hooks"
    where = [field("url", "Endpoint", hint=hint, placeholder=example, is_required=not known)]
    if known is None:
        if request.caller.namespace is None:
            where.append(field("namespace", "Namespace", hint="blank for jobs of all namespaces"))
        where.append(field("since", "Since", hint="time, UTC, blank for now", type="datetime-local"))
    return render(
        request,
        "webhook_form.html",
        status=status,
        known=known,
        title=stands.get("title", ""),
        address=webhook_address(known.id) if known else WEBHOOKS,
        problem=sent.problems.get("", ""),
        revision=sent.values.get("revision") or (known.revision if known else ""),
        where=where,
        what=[
            field("events", "Send when", choices=EVENTS, type="boxes"),
            field("types", "Other events", hint="types, with commas between them", placeholder="custom:paid"),
            field("definitions", "Of definitions", hint="blank for all"),
            field("queues", "Of queues", hint="blank for all"),
            field("tags", "With a tag of", hint="blank for all"),
            field("with_params", "Params", hint="sent with the event", choices=_YES_NO),
            field("with_result", "Result", hint="sent with the event", choices=_YES_NO),
            field("tries", "Tries", hint="of each delivery, at most 15", mode="numeric"),
            field("timeout", "Longest try", hint="how long it may take, such as 10s"),
        ],
        is_paused="paused" in sent.values,
    )


def _standing(context: AppContext, known: Webhook) -> dict[str, str]:
    """The fields of a webhook as it is; a URL with a secret is not shown."""
    asked, url = known.asked, context.redaction.text(known.asked.url)
    has_secrets = url != asked.url
    found = {
        "title": url,
        "url": "" if has_secrets else url,
        "events": ", ".join(event for event in asked.events if event in GROUPS),
        "types": ", ".join(event for event in asked.events if event not in GROUPS),
        "definitions": ", ".join(asked.definitions),
        "queues": ", ".join(asked.queues),
        "tags": ", ".join(asked.tags),
        "with_params": "true" if asked.with_params else "",
        "with_result": "true" if asked.with_result else "",
        "tries": str(asked.tries),
        "timeout": f"{asked.timeout.total_seconds():g}s",
    }
    return {**found, "has_secrets": "yes"} if has_secrets else found
