"""Short functions of the contract suite for webhooks: `subscribed`, `fanned_out`, `tried` …"""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from tenure.core.webhooks.delivery import (
    Cursor,
    Delivery,
    DeliveryState,
    DueDelivery,
    NewDelivery,
    ScannedEvent,
    Try,
)
from tenure.core.webhooks.webhook import NewWebhook, Webhook, types_of
from tenure.relay.subscriptions import interested
from tenure.storage.contract.store import Store
from tests.storage.races.requests import StoreCall
from tests.storage.verbs import seconds

MINUTE = timedelta(minutes=1)


def wanted(*events: str, **terms: Any) -> NewWebhook:
    """What is asked for; without events every end of a job."""
    return NewWebhook(
        **{"id": uuid4(), "url": "https://example.com/hook", "events": events or ("onEnd",), **terms}
    )


async def subscribed(store: Store, *events: str, **terms: Any) -> UUID:
    """A webhook that is on record."""
    how = {name: terms.pop(name, None) for name in ("since", "paused_by")}
    return (await store.add_webhook(wanted(*events, **terms), secret="whsec_old", **how)).id


async def webhook_of(store: Store, webhook_id: UUID) -> Webhook:
    """A webhook that exists."""
    found = await store.webhook(webhook_id)
    assert isinstance(found, Webhook)
    return found


def delivery_of(webhook_id: UUID, event: ScannedEvent) -> NewDelivery:
    """An event on its way to a webhook."""
    told = event.entry.event
    return NewDelivery(
        webhook=webhook_id,
        message=f"msg_{told.job}_{told.n}",
        type=told.type,
        at=told.at,
        body="{}",
        job=told.job,
        n=told.n,
    )


def by_hand(webhook_id: UUID, message: str = "msg_test", **terms: Any) -> NewDelivery:
    """A delivery without a job."""
    at = terms.pop("at")
    return NewDelivery(webhook=webhook_id, message=message, type="test", at=at, body="{}", **terms)


async def taken(store: Store, holder: str = "relay") -> Cursor:
    """The cursor whose turn it is."""
    cursor = await store.take_cursor(holder, hold_for=MINUTE)
    assert cursor is not None
    return cursor


async def pass_by(store: Store, cursor: Cursor, webhook_id: UUID) -> None:
    """Move the main cursor to the end, as a process does that cannot read a webhook."""
    end = await store.end_of_feed()
    assert await store.fan_out(cursor, end, [], left={webhook_id: cursor.position})


async def fans_out(store: Store, cursor: Cursor, limit: int = 1000) -> StoreCall:
    """What a relay does with a cursor, up to the last call."""
    hooks = [
        one
        for one in await store.webhooks(limit=200)
        if isinstance(one, Webhook) and one.paused_at is None and cursor.webhook in (None, one.id)
    ]
    scanned = await store.scan(cursor.position, types=types_of(hooks), until=cursor.until, limit=limit)
    new = [delivery_of(one.id, event) for event in scanned.events for one in interested(hooks, event, cursor)]
    return StoreCall("fan_out", (cursor, scanned.position, new), {"is_end": scanned.is_end})


async def move(store: Store, cursor: Cursor, limit: int = 1000) -> tuple[bool, bool]:
    """What a relay does with a cursor: whether it was moved, and whether it is at its end."""
    call = await fans_out(store, cursor, limit)
    return await store.fan_out(*call.arguments, **call.named), call.named["is_end"]


async def fanned_out(store: Store, limit: int = 1000) -> None:
    """Fan out until every cursor is at its end: that of all comes twice in a row then."""
    at_end = ""
    while (cursor := await store.take_cursor("relay", hold_for=MINUTE)) is not None:
        if cursor.name == at_end:
            return
        is_moved, is_end = await move(store, cursor, limit)
        assert is_moved
        at_end = cursor.name if is_end and cursor.webhook is None else ""


async def told(store: Store, webhook_id: UUID) -> list[tuple[UUID | None, str]]:
    """What is on record for a webhook: jobs and types, the oldest first."""
    listed = await store.deliveries(webhook_id, limit=200)
    return [(one.job, one.type) for one in sorted(listed, key=lambda one: (one.at, str(one.job), one.n))]


async def delivery_on_record(store: Store, webhook_id: UUID, message: str) -> Delivery:
    """A delivery that exists."""
    found = await store.delivery(webhook_id, message)
    assert found is not None
    return found


async def due(store: Store, holder: str = "relay", limit: int = 100, **terms: Any) -> list[DueDelivery]:
    """Take what is due."""
    return await store.due_deliveries(holder, limit=limit, **{"hold_for": MINUTE, **terms})


def tried(one: DueDelivery, state: DeliveryState = DeliveryState.DELIVERED, **terms: Any) -> Try:
    """How a try ended; without a state well."""
    status = 200 if state is DeliveryState.DELIVERED else 500
    again = seconds(5) if state is DeliveryState.WAITING else None
    return Try(
        **{
            "webhook": one.webhook.id,
            "message": one.delivery.message,
            "state": state,
            "took": seconds(0.25),
            "status": status,
            "retry_after": again,
            **terms,
        }
    )


def failed(one: DueDelivery, **terms: Any) -> Try:
    """A try that failed, with more to come."""
    return tried(one, DeliveryState.WAITING, **terms)


async def waiting(store: Store, webhook_id: UUID, number: int) -> list[str]:
    """So many deliveries that are due, in the order of their messages."""
    messages = [f"msg_{n:04}" for n in range(number)]
    for message in messages:
        assert await store.add_delivery(by_hand(webhook_id, message, at=await store.now())) is not None
    return messages


async def try_due(
    store: Store, state: DeliveryState = DeliveryState.DELIVERED, **terms: Any
) -> list[Webhook]:
    """Try all that is due, with this ending; returns the webhooks that were paused by it."""
    return await store.settle_deliveries("relay", [tried(one, state, **terms) for one in await due(store)])
