"""From requests about webhooks to what the engine takes, and how what it refuses is answered."""

import re
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from msgspec import UNSET
from msgspec.structs import replace

from tenure.api import inputs
from tenure.api.webhook_shapes import NewWebhookBody, WebhookChange
from tenure.core.webhooks.delivery import Delivery
from tenure.core.webhooks.webhook import KnownWebhook, NewWebhook, Webhook
from tenure.engine.webhooks.webhooks import (
    DeliveryNotFound,
    WebhookChanged,
    WebhookNotFound,
    WebhookUnreadable,
)
from tenure.surfaces.http.app import cursors
from tenure.surfaces.http.app.context import AppContext, Request
from tenure.surfaces.http.app.problems import Refusal

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PLACE = ">q"
_MESSAGE = re.compile("[A-Za-z0-9_.:-]{1,255}")
_PLAIN = ("url", "events", "definitions", "queues", "tags", "with_params", "with_result", "tries")


def new_webhook(body: NewWebhookBody, request: Request) -> NewWebhook:
    """The webhook that a body asks for. Raises InvalidInput, or Refusal for a namespace of others."""
    own: str | None = request.caller.namespace
    asked = None if body.namespace is UNSET else body.namespace
    if own is not None and asked not in {None, own}:
        raise Refusal("insufficient-scope", "the key is bound to another namespace")
    return NewWebhook(id=uuid4(), namespace=own or asked, creator=request.caller.key, **_sent(body))


def changed_webhook(known: NewWebhook, body: WebhookChange, creator: str | None) -> NewWebhook:
    """A webhook with what a body changes; from then on the key of this caller decides what it may be sent."""
    return replace(known, creator=creator, **_sent(body))


async def webhook_of(context: AppContext, request: Request) -> Webhook:
    """The webhook that the path names; one of another namespace is as unknown as one that does not exist."""
    async with refusals():
        return await context.client.webhooks.get(_id_in(request), namespace=request.caller.namespace)


async def known_webhook(context: AppContext, request: Request) -> KnownWebhook:
    """The same, as far as it can be read."""
    async with refusals():
        return await context.client.webhooks.look(_id_in(request), namespace=request.caller.namespace)


def message_in(request: Request) -> str:
    """The message that the path names. Raises Refusal for a text that is none."""
    text: str = request.path["message"]
    if not _MESSAGE.fullmatch(text):
        raise Refusal("not-found", "no message can have this id")
    return text


def place_of_delivery(last: Delivery) -> bytes:
    """Where a page of deliveries ends, for a cursor."""
    return struct.pack(_PLACE, (last.noted_at - _EPOCH) // _MICROSECOND) + last.message.encode()


def delivery_place(cursor: str, list_id: bytes) -> tuple[datetime, str]:
    """The delivery before which a list continues. Raises Refusal as `cursors.read` does."""
    place = cursors.read(cursor, list_id)
    size = struct.calcsize(_PLACE)
    try:
        [micros] = struct.unpack(_PLACE, place[:size])
        return _EPOCH + micros * _MICROSECOND, place[size:].decode()
    except (struct.error, OverflowError, UnicodeDecodeError):
        raise Refusal("invalid-cursor", "start again without a cursor") from None


@asynccontextmanager
async def refusals() -> AsyncIterator[None]:
    """Answer what the engine refuses as the problem that it is."""
    try:
        yield
    except (WebhookNotFound, DeliveryNotFound) as error:
        raise Refusal("not-found", str(error)) from None
    except WebhookUnreadable as error:
        raise Refusal("webhook-unreadable", str(error)) from None
    except WebhookChanged as error:
        raise Refusal("revision-mismatch", str(error)) from None


def _id_in(request: Request) -> UUID:
    text: str = request.path["webhookId"]
    if not inputs.is_job_id(text):
        raise Refusal("not-found", "no webhook can have this id")
    return UUID(text)


def _sent(body: WebhookChange) -> dict[str, Any]:
    found = {name: getattr(body, name) for name in _PLAIN if getattr(body, name) is not UNSET}
    if body.timeout_seconds is not UNSET:
        found["timeout"] = timedelta(milliseconds=round(body.timeout_seconds * 1000))
    return found
