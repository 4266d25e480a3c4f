"""The routes about webhooks."""

from msgspec import structs

from tenure.api import webhook_shapes as shapes
from tenure.surfaces.http.app.parameters import CURSOR, DELIVERY_STATE, LIMIT, NAMESPACE
from tenure.surfaces.http.app.routes import Header
from tenure.surfaces.http.calls import webhooks
from tenure.surfaces.http.calls.tables.audiences import changer, operator, reader

_IF_MATCH = Header(name="if-match", text="the webhook's `revision` as it was read, in quotes")
_OF_NAMESPACE = structs.replace(NAMESPACE, text="of this namespace alone")
_ONE = "/v1/webhooks/{webhookId}"


ROUTES = (
    reader(
        "/v1/webhooks",
        handler=webhooks.page,
        summary="The webhooks",
        parameters=(_OF_NAMESPACE, LIMIT, CURSOR),
        answers={200: shapes.WebhookPage},
        problems=("not-found", "invalid-cursor"),
        is_namespaced=True,
    ),
    operator(
        "/v1/webhooks",
        handler=webhooks.create,
        target=webhooks.target,
        summary="Create a webhook; the answer has its secret, this once",
        body=shapes.NewWebhookBody,
        fields=shapes.FIELDS,
        answers={201: shapes.MadeWebhook},
        problems=("webhook-url", "validation"),
        is_namespaced=True,
    ),
    reader(
        _ONE,
        handler=webhooks.get,
        summary="One webhook",
        answers={200: shapes.WebhookItem},
        problems=("not-found",),
        is_namespaced=True,
    ),
    changer(
        "PATCH",
        _ONE,
        handler=webhooks.edit,
        summary="Change parts of a webhook",
        body=shapes.WebhookChange,
        fields=shapes.FIELDS,
        headers=(_IF_MATCH,),
        answers={200: shapes.WebhookItem},
        problems=(
            *("not-found", "webhook-unreadable", "revision-required", "revision-mismatch"),
            *("webhook-url", "validation"),
        ),
    ),
    changer(
        "DELETE",
        _ONE,
        handler=webhooks.delete,
        summary="Delete a webhook with its deliveries",
        answers={200: shapes.WebhookGone},
        problems=("not-found",),
    ),
    operator(
        f"{_ONE}/rotate",
        handler=webhooks.rotate,
        summary="Give a webhook a new secret; the old one signs beside it for 24 hours",
        answers={200: shapes.MadeWebhook},
        problems=("not-found", "webhook-unreadable"),
        is_namespaced=True,
    ),
    operator(
        f"{_ONE}/pause",
        handler=webhooks.pause,
        summary="Pause a webhook: nothing is sent to it",
        body=shapes.WebhookPause,
        needs_body=False,
        answers={200: shapes.WebhookItem},
        problems=("not-found",),
        is_namespaced=True,
    ),
    operator(
        f"{_ONE}/resume",
        handler=webhooks.resume,
        summary="Resume a webhook",
        body=shapes.CatchUpBody,
        needs_body=False,
        answers={200: shapes.WebhookItem},
        problems=("not-found", "webhook-unreadable"),
        is_namespaced=True,
    ),
    operator(
        f"{_ONE}/test",
        handler=webhooks.test,
        summary="Send a webhook something that is no event",
        answers={202: shapes.DeliveryItem},
        problems=("not-found", "webhook-unreadable"),
        is_namespaced=True,
    ),
    operator(
        f"{_ONE}/redeliver",
        handler=webhooks.redeliver_since,
        summary="Send every event since a moment again",
        body=shapes.SinceBody,
        fields=shapes.FIELDS,
        answers={202: shapes.WebhookItem},
        problems=("not-found", "webhook-unreadable", "validation"),
        is_namespaced=True,
    ),
    reader(
        f"{_ONE}/deliveries",
        handler=webhooks.deliveries,
        summary="What became of the deliveries of a webhook, the latest first",
        parameters=(DELIVERY_STATE, LIMIT, CURSOR),
        answers={200: shapes.DeliveryPage},
        problems=("not-found", "invalid-cursor"),
        is_namespaced=True,
    ),
    reader(
        f"{_ONE}/deliveries/{{message}}",
        handler=webhooks.delivery,
        summary="One delivery",
        answers={200: shapes.DeliveryItem},
        problems=("not-found",),
        is_namespaced=True,
    ),
    operator(
        f"{_ONE}/deliveries/{{message}}/redeliver",
        handler=webhooks.redeliver,
        summary="Send one delivery again, now",
        answers={202: shapes.DeliveryItem},
        problems=("not-found",),
        is_namespaced=True,
    ),
)
