"""Pairs of verbs that want the same webhooks: those that fan out, deliver, change and delete."""

from collections import Counter
from typing import Any
from uuid import UUID

from tenure.core.webhooks.delivery import Cursor, DeliveryState
from tests.storage.races.collision import BATCH, Collision, Ground, Pair
from tests.storage.races.requests import StoreCall, prunes
from tests.storage.verbs import seconds
from tests.storage.webhook_verbs import (
    due,
    fanned_out,
    fans_out,
    subscribed,
    taken,
    told,
    tried,
    waiting,
    wanted,
    webhook_of,
)


async def _behind(ground: Ground, events: int = BATCH) -> tuple[UUID, Cursor]:
    """The only webhook, and its cursor, with so many events before it."""
    for old in await ground.store.webhooks(limit=200):
        await ground.store.delete_webhook(old.id)
    webhook = await subscribed(ground.store, "cancelled")
    jobs = await ground.enqueue()
    await ground.store.cancel(jobs[:events])
    return webhook, await taken(ground.store)


async def two_that_fan_out(ground: Ground) -> Collision:
    """S1.17: one of them moves the cursor, and no event becomes two deliveries."""
    webhook, cursor = await _behind(ground)
    call = await fans_out(ground.store, cursor)

    async def afterwards(_one: Any, _two: Any) -> None:
        assert len(await told(ground.store, webhook)) == BATCH

    return Collision(call, call, lambda one, two: one != two, afterwards)


async def _fanning_out_and(ground: Ground, change: StoreCall) -> Collision:
    """It is fanned out before the change, or not at all; either way nothing is missing in the end."""
    webhook, cursor = await _behind(ground)
    call = await fans_out(ground.store, cursor)
    named = change.arguments or (webhook,)

    async def afterwards(moved: Any, _changed: Any) -> None:
        store = ground.store
        assert len(await told(store, webhook)) == (BATCH if moved else 0)
        if (known := await webhook_of(store, webhook)).paused_at is not None:
            assert known.paused_behind is not None
            assert (known.paused_behind > cursor.position) == moved
            await fanned_out(store)
            await store.resume_webhook(webhook, catches_up=True)
        await fanned_out(store)
        assert len(await told(store, webhook)) == BATCH

    call_two = StoreCall(change.verb, named, change.named)
    return Collision(call, call_two, lambda _moved, changed: changed is not None, afterwards)


async def fanning_out_and_pausing(ground: Ground) -> Collision:
    """S1.17: what passes a webhook that is paused is caught up with."""
    return await _fanning_out_and(ground, StoreCall("pause_webhook"))


async def fanning_out_and_adding(ground: Ground) -> Collision:
    """S1.17: no event passes a webhook that is being made."""
    return await _fanning_out_and(ground, StoreCall("add_webhook", (wanted(),), {"secret": None}))


async def fanning_out_and_deleting(ground: Ground) -> Collision:
    """Whichever was first, nothing is left of the webhook, nor of its cursor."""
    webhook, cursor = await _behind(ground)
    call = await fans_out(ground.store, cursor)

    async def afterwards(_moved: Any, _gone: Any) -> None:
        assert await ground.store.take_cursor("relay", hold_for=seconds(1)) is None
        await ground.store.tidy()
        assert await ground.backend.sql("SELECT count(*) FROM tenure.delivery") == [(0,)]

    delete = StoreCall("delete_webhook", (webhook,))
    return Collision(call, delete, lambda _moved, gone: gone is True, afterwards)


async def fanning_out_and_pruning(ground: Ground) -> Collision:
    """S1.17: what is deleted was told; with no retention at all."""
    webhook, cursor = await _behind(ground)
    call = await fans_out(ground.store, cursor)

    def agree(moved: Any, pruned: Any) -> bool:
        return bool(moved) and pruned.jobs >= 0

    async def afterwards(_moved: Any, _pruned: Any) -> None:
        assert len(await told(ground.store, webhook)) == BATCH

    return Collision(call, prunes(), agree, afterwards)


async def two_that_deliver(ground: Ground) -> Collision:
    """S1.73: no delivery is taken by both, and of a webhook no more than may be under way."""
    for old in await ground.store.webhooks(limit=200):
        await ground.store.delete_webhook(old.id)
    webhooks = [await subscribed(ground.store) for _ in range(4)]
    for webhook in webhooks:
        await waiting(ground.store, webhook, 8)

    def agree(one: Any, two: Any) -> bool:
        by_webhook = Counter(it.webhook.id for it in [*one, *two])
        return by_webhook == dict.fromkeys(webhooks, 5) and {_key(it) for it in one}.isdisjoint(
            map(_key, two)
        )

    named = {"limit": 100, "hold_for": seconds(60)}
    calls = [StoreCall("due_deliveries", (holder,), named) for holder in ("a", "b")]
    return Collision(calls[0], calls[1], agree)


async def redelivering_and_settling(ground: Ground) -> Collision:
    """S1.73: what was asked for again is sent again, though its try is given up at this moment."""
    webhook = await subscribed(ground.store)
    await waiting(ground.store, webhook, 1)
    [one] = await due(ground.store)

    async def afterwards(_again: Any, _paused: Any) -> None:
        [after] = await ground.store.deliveries(webhook)
        assert (after.state, after.tries) == (DeliveryState.WAITING, 0)
        await ground.store.delete_webhook(webhook)

    again = StoreCall("redeliver", (webhook, one.delivery.message))
    ends = StoreCall("settle_deliveries", ("relay", [tried(one, DeliveryState.DEAD)]))
    return Collision(again, ends, lambda delivery, paused: delivery is not None and paused == (), afterwards)


async def settling_and_taking(ground: Ground) -> Collision:
    """S1.73: ends of tries, of which some pause a webhook, and who takes the next: no circle."""
    webhooks = [await subscribed(ground.store) for _ in range(4)]
    for webhook in webhooks:
        await waiting(ground.store, webhook, 8)
    held = [one for one in await due(ground.store) if one.webhook.id in webhooks]
    ends = [
        tried(one, DeliveryState.WAITING, pauses="gone" if one.webhook.id == webhooks[0] else None)
        for one in ground.shuffled(held)
    ]

    def agree(paused: Any, got: Any) -> bool:
        return [it.id for it in paused] == webhooks[:1] and {_key(it) for it in got}.isdisjoint(
            map(_key, held)
        )

    async def afterwards(_paused: Any, _got: Any) -> None:
        for webhook in webhooks:
            await ground.store.delete_webhook(webhook)

    take = StoreCall("due_deliveries", ("another",), {"limit": 100, "hold_for": seconds(60)})
    return Collision(StoreCall("settle_deliveries", ("relay", ends)), take, agree, afterwards)


def _key(one: Any) -> tuple[UUID, str]:
    return one.webhook.id, one.delivery.message


PAIRS: tuple[Pair, ...] = (
    two_that_fan_out,
    fanning_out_and_pausing,
    fanning_out_and_adding,
    fanning_out_and_deleting,
    fanning_out_and_pruning,
    two_that_deliver,
    redelivering_and_settling,
    settling_and_taking,
)
