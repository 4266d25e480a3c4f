"""Webhooks: how their deliveries do, and buttons to pause, resume, try, rotate and delete them."""

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct

from tenure.api.webhook_shapes import IN_CLEAR, WebhookItem, delivery_item, webhook_item
from tenure.core.webhooks.delivery import DeliveryState
from tenure.core.webhooks.webhook import KnownWebhook
from tenure.surfaces.dashboard.forms.browser_time import browser_time
from tenure.surfaces.dashboard.pages.addresses import WEBHOOKS, webhook_address
from tenure.surfaces.dashboard.renderer import render, see_other
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.forms import Form
from tenure.surfaces.http.calls.webhook_bodies import (
    delivery_place,
    known_webhook,
    message_in,
    place_of_delivery,
    refusals,
    webhook_of,
)

PAGE = 50


class WhyForm(Form, frozen=True, kw_only=True):
    """Why a webhook is paused."""

    reason: str | None = None


class GoOnForm(Form, frozen=True, kw_only=True):
    """Whether what came during the pause is sent."""

    catch_up: bool = False


class SinceForm(Form, frozen=True, kw_only=True):
    """From when on everything is sent again."""

    since: str


class Totals(Struct, frozen=True):
    """How many endpoints a list has, and how they do."""

    endpoints: int
    failing: int
    waiting: int


async def webhooks(context: AppContext, request: Request) -> Response:
    """The page of webhooks."""
    list_id = b"webhook pages"
    after = cursors.read_job(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.webhooks.page(
        namespace=request.caller.namespace, after=after, limit=PAGE + 1
    )
    shown = found[:PAGE]
    items = await _items(context, shown)
    further = None
    if len(found) > PAGE:
        further = f"{WEBHOOKS}?{urlencode({'cursor': cursors.write(shown[-1].id.bytes, list_id)})}"
    return render(
        request,
        "webhooks.html",
        fragment="_webhooks.html",
        webhooks=items,
        totals=Totals(
            len(items), sum(one.state == "failing" for one in items), sum(one.waiting for one in items)
        ),
        is_start=after is None,
        further=further,
    )


async def webhook(context: AppContext, request: Request) -> Response:
    """The page of one webhook, with its deliveries."""
    known = await known_webhook(context, request)
    state: DeliveryState | None = request.query.get("state")
    list_id = f"delivery pages {known.id} {state or ''}".encode()
    before = delivery_place(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.webhooks.deliveries(known.id, state=state, before=before, limit=PAGE + 1)
    older = None
    if len(found) > PAGE:
        words = {"state": state or "", "cursor": cursors.write(place_of_delivery(found[PAGE - 1]), list_id)}
        older = f"{webhook_address(known.id)}?{urlencode({k: v for k, v in words.items() if v})}"
    [item] = await _items(context, [known])
    return render(
        request,
        "webhook.html",
        fragment="_webhook.html",
        item=item,
        address=webhook_address(known.id),
        is_stored=await context.client.webhooks.is_stored(known.id),
        deliveries=[delivery_item(one, context.redaction) for one in found[:PAGE]],
        state=state,
        is_start=before is None,
        older=older,
    )


async def pause(context: AppContext, request: Request) -> Response:
    """Send nothing to a webhook."""
    form: WhyForm = request.body
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.pause(known.id, by=request.caller.name, reason=form.reason)
    return see_other(webhook_address(known.id))


async def resume(context: AppContext, request: Request) -> Response:
    """Let a paused webhook go on."""
    form: GoOnForm = request.body
    known = await webhook_of(context, request)
    async with refusals():
        await context.client.webhooks.resume(known.id, catch_up=form.catch_up)
    return see_other(webhook_address(known.id))


async def test(context: AppContext, request: Request) -> Response:
    """Send a webhook something that is no event."""
    known = await webhook_of(context, request)
    async with refusals():
        await context.client.webhooks.test(known.id)
    return see_other(webhook_address(known.id))


async def rotate(context: AppContext, request: Request) -> Response:
    """Give a webhook a new secret. The answer shows it, and no page does so again."""
    known = await webhook_of(context, request)
    async with refusals():
        made = await context.client.webhooks.rotate(known.id)
    [item] = await _items(context, [made.webhook])
    return render(
        request,
        "webhook_secret.html",
        item=item,
        address=webhook_address(known.id),
        secret=made.secret,
        note=IN_CLEAR if made.is_stored else None,
    )


async def redeliver(context: AppContext, request: Request) -> Response:
    """Send one delivery again."""
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.redeliver(known.id, message_in(request))
    return see_other(webhook_address(known.id))


async def redeliver_since(context: AppContext, request: Request) -> Response:
    """Send everything since a moment again."""
    form: SinceForm = request.body
    since = browser_time("since", form.since)
    known = await webhook_of(context, request)
    async with refusals():
        await context.client.webhooks.redeliver_since(known.id, since)
    return see_other(webhook_address(known.id))


async def delete(context: AppContext, request: Request) -> Response:
    """Remove a webhook with its deliveries."""
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.delete(known.id)
    return see_other(WEBHOOKS)


async def _items(context: AppContext, found: Sequence[KnownWebhook]) -> list[WebhookItem]:
    figures = await context.client.webhooks.figures(found)
    return [webhook_item(one, how, context.redaction) for one, how in zip(found, figures, strict=True)]
