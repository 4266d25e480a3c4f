"""Somebody who makes webhooks, pauses, resumes and rotates them, and sends things again; and clears up."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

from msgspec.structs import replace

from chaos.webhooks.receiver import BEHAVIOURS
from chaos.webhooks.told import Hook
from tenure.core.errors import StoreError
from tenure.core.values.bounds import LARGEST_PAGE
from tenure.core.webhooks.delivery import DeliveryState
from tenure.core.webhooks.signature import random_secret
from tenure.core.webhooks.webhook import NewWebhook, Webhook
from tenure.storage.contract.store import Store

PATIENCE = timedelta(seconds=1)
"""How long a receiver may take, so that those that hang do not take all of the run."""

SOON = timedelta(seconds=2)
KEEP = timedelta(hours=1)

FILTERS: tuple[dict[str, Any], ...] = (
    {"events": ("onStart", "onEnd"), "queues": ("mail",)},
    {"events": ("onFail", "retrying"), "definitions": ("fail", "wobble")},
    {"events": ("created", "queued", "onSuccess"), "tags": ("red",)},
)
"""What some ask for besides; the others want every end."""


class Operator:
    """Acts on a store; `hooks` is all that it has asked for, `acts` counts what it did."""

    def __init__(self, store: Store, ports: list[int], random: Random) -> None:
        self.hooks: dict[UUID, Hook] = {}
        self.acts: Counter[str] = Counter()
        self.pausing = asyncio.Lock()
        """Held while one is paused by hand: what is pruned meanwhile is lost to it."""
        self._store = store
        self._ports = ports
        self._random = random

    async def subscribe(self) -> None:
        """A webhook for each behaviour of receivers, and for each filter."""
        for behaviour in BEHAVIOURS:
            await self.create(behaviour)
        for terms in FILTERS:
            await self.create("ok", **terms)

    async def create(self, behaviour: str, since: datetime | None = None, **terms: Any) -> None:
        """One webhook."""
        new, secret = uuid4(), random_secret()
        url = f"http://127.0.0.1:{self._random.choice(self._ports)}/{behaviour}/{new}"
        asked = NewWebhook(**{"id": new, "url": url, "events": ("onEnd",), "timeout": PATIENCE, **terms})
        made = await self._store.add_webhook(asked, secret=secret, since=since)
        rests = behaviour == "gone"
        self.hooks[new] = Hook(asked=asked, after=made.after, since=since, secrets=[secret], rests=rests)
        self.acts["create"] += 1

    async def act(self, every: float, began: datetime) -> None:
        """Do something to one webhook after the other, until cancelled."""
        acts = (self._rest, self._rest, self._rotate, self._again, self._test)
        while True:
            await asyncio.sleep(every * self._random.uniform(0.5, 1.5))
            hook = self._random.choice(list(self.hooks))
            try:
                await self.wake()
                await self._random.choice(acts)(hook, began)
            except StoreError:
                self.acts["unanswered"] += 1

    async def wake(self) -> None:
        """Let those go on that paused themselves, or that are left alone for long."""
        now = await self._store.now()
        for known in await self._store.webhooks(limit=LARGEST_PAGE):
            is_closed = isinstance(known, Webhook) and (known.closed_until or now) > now + SOON
            if known.paused_at is not None or is_closed:
                async with self.pausing:
                    await self._store.pause_webhook(known.id)
                    await self._store.resume_webhook(known.id, catches_up=True)
                self.acts["wake"] += 1

    async def hurry(self) -> None:
        """Have everything tried now that waits for long."""
        soon = await self._store.now() + SOON
        for hook in self.hooks:
            waiting = await self._store.deliveries(hook, state=DeliveryState.WAITING, limit=LARGEST_PAGE)
            dead = await self._store.deliveries(hook, state=DeliveryState.DEAD, limit=LARGEST_PAGE)
            late = [one for one in waiting if (one.next_at or soon) > soon]
            for one in [*late, *dead]:
                await self._store.redeliver(hook, one.message)
                self.acts["redeliver"] += 1

    async def _rest(self, hook: UUID, _: datetime) -> None:
        self.acts["pause"] += 1
        async with self.pausing:
            await self._store.pause_webhook(hook, by="the run")
            await asyncio.sleep(self._random.uniform(0, 1))
            await self._store.resume_webhook(hook, catches_up=True)

    async def _rotate(self, hook: UUID, _: datetime) -> None:
        secret = random_secret()
        known = self.hooks[hook]
        self.hooks[hook] = replace(known, secrets=[*known.secrets, secret])
        self.acts["rotate"] += 1
        await self._store.rotate_webhook(hook, secret=secret, keep=KEEP)

    async def _again(self, hook: UUID, began: datetime) -> None:
        known = self.hooks[hook]
        since = max(began, datetime.now(UTC) - timedelta(seconds=5))
        earliest = since if known.since is None else min(since, known.since)
        self.hooks[hook] = replace(known, since=earliest)
        self.acts["redeliver since"] += 1
        await self._store.redeliver_since(hook, since)

    async def _test(self, hook: UUID, _: datetime) -> None:
        from tenure.engine.webhooks.webhooks import Webhooks, WebhookTerms

        self.acts["test"] += 1
        await Webhooks(self._store, WebhookTerms()).test(hook)
