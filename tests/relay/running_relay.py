"""Runs what sends webhooks in this process, with the duties that wake it, and moves jobs for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

from tenure.core.signals import Signal
from tenure.core.values.failure import Failure
from tenure.core.webhooks.delivery import Delivery, DeliveryState
from tenure.core.webhooks.signature import random_secret
from tenure.core.webhooks.webhook import NewWebhook
from tenure.engine.upkeep.caretaker import Caretaker
from tenure.relay.webhooks import WebhookRelay
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tests.storage.verbs import BOOM, claim, enqueue_one, settle, succeeded, unrecoverable
from tests.until import until

ALLOW = ("127.0.0.0/8",)
SECRET = random_secret()


@asynccontextmanager
async def relay_on(store: Store, **settings: Any) -> AsyncIterator[list[Signal]]:
    """Webhooks are sent while the context lasts; collects what is announced."""
    announced: list[Signal] = []
    given = Settings(**{"poll_seconds": 0.05, "webhook_allow": ALLOW, **settings})
    relay = WebhookRelay(store, given, announced.append)
    caretaker = Caretaker(store, given, announced.append, relay.on_outlook)
    tasks = [asyncio.create_task(relay.run()), asyncio.create_task(caretaker.run())]
    try:
        yield announced
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def hook(store: Store, url: str, *events: str, **terms: Any) -> UUID:
    """A webhook that is signed with `SECRET`."""
    new = NewWebhook(**{"id": uuid4(), "url": url, "events": events or ("onEnd",), **terms})
    return (await store.add_webhook(new, secret=SECRET)).id


async def end_jobs(store: Store, number: int, **fields: Any) -> list[str]:
    """Jobs that succeed; returns the ids of the messages about it."""
    jobs = [await enqueue_one(store, **fields) for _ in range(number)]
    left = set(jobs)
    while left:
        owned = await claim(store, limit=100)
        await settle(store, [succeeded(one) for one in owned])
        left -= {one.lease.job for one in owned}
    return [f"msg_{job.hex}_3" for job in jobs]


async def fail_job(store: Store, error: Failure = BOOM) -> UUID:
    """A job that becomes a dead letter."""
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await settle(store, [unrecoverable(owned, error)])
    return job


async def settled(store: Store, webhook_id: UUID, number: int) -> list[Delivery]:
    """The deliveries of a webhook, once so many were delivered."""

    async def found() -> list[Delivery]:
        listed = await store.deliveries(webhook_id, limit=200)
        delivered = [one for one in listed if one.state is DeliveryState.DELIVERED]
        return listed if len(delivered) >= number else []

    return await until(found)
