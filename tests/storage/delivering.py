"""Tries deliveries as a sender does, without sending anything."""

from datetime import timedelta
from typing import Any

from tenure.core.webhooks.delivery import DeliveryState, Try
from tenure.core.webhooks.webhook import Webhook
from tenure.storage.contract.store import Store

TOOK = timedelta(milliseconds=160)


async def try_due(store: Store, state: DeliveryState = DeliveryState.DELIVERED, **how: Any) -> list[Webhook]:
    """Try all that is due, with this ending; returns the webhooks that were paused by it."""
    due = await store.due_deliveries("sender", limit=100, hold_for=timedelta(seconds=30))
    return await store.settle_deliveries(
        "sender",
        [
            Try(webhook=one.webhook.id, message=one.delivery.message, state=state, took=TOOK, **how)
            for one in due
        ],
    )
