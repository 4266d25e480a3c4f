"""The control API's calls about webhooks and their deliveries."""

from uuid import UUID

from msgspec import UNSET

from tenure.api.webhook_shapes import (
    CatchUpBody,
    DeliveryPage,
    NewWebhookBody,
    SinceBody,
    WebhookChange,
    WebhookGone,
    WebhookItem,
    WebhookPage,
    delivery_item,
    made_webhook,
    webhook_item,
)
from tenure.core.webhooks.address import host_in
from tenure.core.webhooks.delivery import Delivery
from tenure.core.webhooks.webhook import KnownWebhook
from tenure.engine.webhooks.webhooks import MadeSecret
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal
from tenure.surfaces.http.app.revisions import revision_in
from tenure.surfaces.http.calls.operate import USUAL_PAGE, reason_of
from tenure.surfaces.http.calls.schedule_bodies import moment_in
from tenure.surfaces.http.calls.webhook_bodies import (
    changed_webhook,
    delivery_place,
    known_webhook,
    message_in,
    new_webhook,
    place_of_delivery,
    refusals,
    webhook_of,
)


async def create(context: AppContext, request: Request) -> Response:
    """Record a webhook; the answer has its secret, this once."""
    body: NewWebhookBody = request.body
    since = None if body.since is UNSET else moment_in("since", body.since)
    made = await context.client.webhooks.create(
        new_webhook(body, request), since=since, paused_by=request.caller.name if body.paused else None
    )
    return await _told(context, made, 201, {"location": f"/v1/webhooks/{made.webhook.id}"})


async def page(context: AppContext, request: Request) -> Response:
    """Webhooks by id: those of the caller's namespace, of the one it names, or all."""
    own: str | None = request.caller.namespace
    namespace = own or request.query.get("namespace")
    if own is not None and request.query.get("namespace") not in {None, own}:
        raise Refusal("not-found", "there is no such namespace")
    limit = request.query.get("limit", USUAL_PAGE)
    list_id = f"webhooks {namespace or ''}".encode()
    after = cursors.read_job(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.webhooks.page(namespace=namespace, after=after, limit=limit)
    figures = await context.client.webhooks.figures(found)
    items = [webhook_item(one, how, context.redaction) for one, how in zip(found, figures, strict=True)]
    cursor = cursors.write(found[-1].id.bytes, list_id) if len(found) == limit else None
    return Response(200, WebhookPage(items=items, next_cursor=cursor))


async def get(context: AppContext, request: Request) -> Response:
    """One webhook."""
    return await _answer(context, await known_webhook(context, request))


async def edit(context: AppContext, request: Request) -> Response:
    """Change parts of a webhook, if it is still as it was read."""
    body: WebhookChange = request.body
    revision = revision_in(request)
    known = await webhook_of(context, request)
    changed = changed_webhook(known.asked, body, request.caller.key)
    async with refusals():
        edited = await context.client.webhooks.edit(known, changed, revision=revision)
    return await _answer(context, edited)


async def delete(context: AppContext, request: Request) -> Response:
    """Remove a webhook with its deliveries."""
    known = await known_webhook(context, request)
    async with refusals():
        await context.client.webhooks.delete(known.id)
    return Response(200, WebhookGone(known.id))


async def rotate(context: AppContext, request: Request) -> Response:
    """Give a webhook a new secret, which the answer has, this once."""
    known = await webhook_of(context, request)
    async with refusals():
        return await _told(context, await context.client.webhooks.rotate(known.id))


async def pause(context: AppContext, request: Request) -> Response:
    """Send nothing to a webhook."""
    reason = reason_of(request.body) if request.body else None
    known = await known_webhook(context, request)
    async with refusals():
        paused = await context.client.webhooks.pause(known.id, by=request.caller.name, reason=reason)
    return await _answer(context, paused)


async def resume(context: AppContext, request: Request) -> Response:
    """Let a paused webhook go on."""
    body: CatchUpBody = request.body or CatchUpBody()
    known = await webhook_of(context, request)
    async with refusals():
        resumed = await context.client.webhooks.resume(known.id, catch_up=body.catch_up)
    return await _answer(context, resumed)


async def test(context: AppContext, request: Request) -> Response:
    """Send a webhook something that is no event."""
    known = await webhook_of(context, request)
    async with refusals():
        return _sent(context, known.id, await context.client.webhooks.test(known.id))


async def deliveries(context: AppContext, request: Request) -> Response:
    """The deliveries of a webhook, those noted last first."""
    known = await known_webhook(context, request)
    limit, state = request.query.get("limit", USUAL_PAGE), request.query.get("state")
    list_id = f"deliveries {known.id} {state or ''}".encode()
    before = delivery_place(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.webhooks.deliveries(known.id, state=state, before=before, limit=limit)
    cursor = cursors.write(place_of_delivery(found[-1]), list_id) if len(found) == limit else None
    items = [delivery_item(one, context.redaction) for one in found]
    return Response(200, DeliveryPage(items=items, next_cursor=cursor))


async def delivery(context: AppContext, request: Request) -> Response:
    """One delivery."""
    known = await known_webhook(context, request)
    async with refusals():
        found = await context.client.webhooks.delivery(known.id, message_in(request))
    return Response(200, delivery_item(found, context.redaction))


async def redeliver(context: AppContext, request: Request) -> Response:
    """Send one delivery again."""
    known = await known_webhook(context, request)
    async with refusals():
        again = await context.client.webhooks.redeliver(known.id, message_in(request))
    return _sent(context, known.id, again)


async def redeliver_since(context: AppContext, request: Request) -> Response:
    """Send everything since a moment again."""
    body: SinceBody = request.body
    since = moment_in("since", body.since)
    known = await webhook_of(context, request)
    async with refusals():
        again = await context.client.webhooks.redeliver_since(known.id, since)
    return await _answer(context, again, 202)


def target(request: Request) -> str:
    """The host that a webhook is created for, for the audit log: the rest of the URL may be a secret."""
    body: NewWebhookBody = request.body
    return host_in(body.url)


async def _item(context: AppContext, webhook: KnownWebhook) -> WebhookItem:
    [figures] = await context.client.webhooks.figures([webhook])
    return webhook_item(webhook, figures, context.redaction)


async def _answer(context: AppContext, webhook: KnownWebhook, status: int = 200) -> Response:
    return Response(status, await _item(context, webhook), {"etag": f'"{webhook.revision}"'})


async def _told(
    context: AppContext, made: MadeSecret, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    told = made_webhook(await _item(context, made.webhook), made.secret, is_stored=made.is_stored)
    return Response(status, told, {"etag": f'"{made.webhook.revision}"', **(headers or {})})


def _sent(context: AppContext, webhook: UUID, delivery: Delivery) -> Response:
    place = f"/v1/webhooks/{webhook}/deliveries/{delivery.message}"
    return Response(202, delivery_item(delivery, context.redaction), {"location": place})
