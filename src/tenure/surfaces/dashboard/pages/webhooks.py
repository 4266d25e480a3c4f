"""Webhooks: where they lead and how their deliveries do; one of them with its tries over time."""

from collections.abc import Sequence
from urllib.parse import urlencode

from msgspec import Struct

from tenure.api.webhook_shapes import DeliveryItem, WebhookItem, delivery_item, webhook_item
from tenure.core.webhooks.delivery import DeliveryState
from tenure.core.webhooks.webhook import KnownWebhook
from tenure.surfaces.dashboard.figures.tries import tries_chart, usual_answer
from tenure.surfaces.dashboard.forms.shown import ReturnedForm
from tenure.surfaces.dashboard.pages.addresses import WEBHOOKS, webhook_address
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.calls.webhook_bodies import delivery_place, known_webhook, place_of_delivery

PAGE = 50
FEW = 8
"""So many webhooks stand above the one that is looked at."""


class Totals(Struct, frozen=True):
    """How many endpoints a list has, and how they do."""

    endpoints: int
    failing: int
    waiting: int

    @classmethod
    def of(cls, items: Sequence[WebhookItem]) -> "Totals":
        """Those of a list."""
        failing = sum(one.state == "failing" for one in items)
        return cls(len(items), failing, sum(one.waiting for one in items))


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
        totals=Totals.of(items),
        is_start=after is None,
        further=further,
    )


async def webhook(context: AppContext, request: Request) -> Response:
    """The page of one webhook, with its deliveries, and a few others above it."""
    return await page_of(context, request, ReturnedForm())


async def page_of(
    context: AppContext, request: Request, returned: ReturnedForm, status: int = 200
) -> Response:
    """The page of one webhook, with a small form that came back, if one did."""
    known = await known_webhook(context, request)
    state: DeliveryState | None = request.query.get("state")
    address = webhook_address(known.id)
    list_id = f"delivery pages {known.id} {state or ''}".encode()
    before = delivery_place(request.query["cursor"], list_id) if "cursor" in request.query else None
    found = await context.client.webhooks.deliveries(known.id, state=state, before=before, limit=PAGE + 1)
    older = None
    if len(found) > PAGE:
        words = {"state": state or "", "cursor": cursors.write(place_of_delivery(found[PAGE - 1]), list_id)}
        older = f"{address}?{urlencode({k: v for k, v in words.items() if v})}"
    tries = await context.client.webhooks.last_tries(known.id)
    others = await context.client.webhooks.page(namespace=request.caller.namespace, limit=FEW + 1)
    items = await _items(context, [known, *(others if len(others) <= FEW else ())])
    deliveries = [delivery_item(one, context.redaction) for one in found[:PAGE]]
    return render(
        request,
        "webhook.html",
        fragment="_webhook.html",
        status=status,
        returned=returned,
        region_url=request.page.url if request.page.method == "GET" else address,
        item=items[0],
        others=items[1:],
        totals=Totals.of(items[1:]),
        address=address,
        is_stored=await context.client.webhooks.is_stored(known.id),
        chart=tries_chart(tries, await context.client.webhooks.now()),
        answers_in=usual_answer(tries.tries),
        deliveries=deliveries,
        last_failure=_last_failure(deliveries),
        parts=_parts(address, items[0], state),
        state=state,
        is_start=before is None,
        older=older,
    )


def _parts(address: str, item: WebhookItem, state: DeliveryState | None) -> list[tuple[str, str, bool]]:
    """The parts of the list of deliveries: address, title, and whether it is the one that is shown."""
    counted = {DeliveryState.WAITING: item.waiting, DeliveryState.DEAD: item.dead}
    titles = {
        None: "All",
        DeliveryState.WAITING: "Waiting",
        DeliveryState.DELIVERED: "Delivered",
        DeliveryState.DEAD: "Given up",
    }
    return [
        (
            f"{address}?state={one}" if one else address,
            f"{title} {counted[one]:,}" if one in counted else title,
            one == state,
        )
        for one, title in titles.items()
    ]


def _last_failure(deliveries: Sequence[DeliveryItem]) -> DeliveryItem | None:
    """The delivery whose last try failed latest, among those that are shown."""
    failed = [one for one in deliveries if one.tried_at and one.state is not DeliveryState.DELIVERED]
    return max(failed, key=lambda one: one.tried_at or one.noted_at, default=None)


async def _items(context: AppContext, found: Sequence[KnownWebhook]) -> list[WebhookItem]:
    figures = await context.client.webhooks.figures(found)
    return [webhook_item(one, how, context.redaction) for one, how in zip(found, figures, strict=True)]
