"""Deliveries that are due: who takes them, how many of a webhook, and what their ends say of it."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.webhooks.delivery import DeliveryState
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import seconds
from tests.storage.webhook_verbs import (
    by_hand,
    delivery_on_record,
    due,
    failed,
    fanned_out,
    subscribed,
    taken,
    tried,
    waiting,
    webhook_of,
)


async def fail(store: Store, clock: Clock, times: int, **terms: object) -> None:
    """Let deliveries fail one after the other."""
    for _ in range(times):
        [one] = await due(store, limit=1)
        await store.settle_deliveries("relay", [failed(one, **terms)])
        await clock.advance(seconds(6))


async def next_delivery(store: Store) -> object:
    return (await store.outlook([])).next_delivery


async def test_what_is_due_comes_with_all_that_a_try_needs(store: Store, clock: Clock) -> None:
    """S1.73: the endpoint, what is sent, and what signs it."""
    webhook = await subscribed(store, tries=4)
    new = by_hand(webhook, at=clock.now)
    assert await store.add_delivery(new) == await store.delivery(webhook, new.message)
    [one] = await due(store, hold_for=seconds(30))
    assert (one.body, one.webhook, one.delivery.message) == (
        "{}",
        await webhook_of(store, webhook),
        "msg_test",
    )
    assert one.secrets == await store.webhook_secrets(webhook)
    assert one.delivery.next_at == clock.now + seconds(30)


async def test_nobody_else_gets_what_is_held(store: Store, other: Store, clock: Clock) -> None:
    """S1.17: not before the hold is over; who held it has no say then."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    [mine] = await due(store, "mine", hold_for=seconds(30))
    assert await due(other, "theirs") == []
    assert await next_delivery(other) == clock.now + seconds(30)
    await clock.advance(seconds(30))
    [theirs] = await due(other, "theirs")
    assert await store.settle_deliveries("mine", [failed(mine)]) == []
    assert (await delivery_on_record(store, webhook, "msg_0000")).tries == 0
    assert (await webhook_of(store, webhook)).failures == 0
    await other.settle_deliveries("theirs", [failed(theirs)])
    assert (await delivery_on_record(store, webhook, "msg_0000")).tries == 1


async def test_what_was_delivered_is_delivered_whoever_holds_it(store: Store, clock: Clock) -> None:
    """S1.17: a late answer counts: what has arrived is not sent again."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    [late] = await due(store, "late", hold_for=seconds(30))
    await clock.advance(seconds(30))
    [again] = await due(store, "again")
    await store.settle_deliveries("late", [tried(late)])
    await store.settle_deliveries("again", [failed(again)])
    one = await delivery_on_record(store, webhook, "msg_0000")
    assert (one.state, one.tries, one.status, one.next_at) == (DeliveryState.DELIVERED, 1, 200, None)
    assert await next_delivery(store) is None


async def test_how_a_try_ended_is_on_record(store: Store, clock: Clock) -> None:
    """S1.73: the status, how long it took, how many tries there were, and when the next one is."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 2)
    first, second = await due(store)
    await clock.advance(seconds(1))
    ends = [
        failed(first, retry_after=seconds(7), status=503),
        tried(second, DeliveryState.DEAD, status=None, problem="no route \x00 to host"),
    ]
    await store.settle_deliveries("relay", ends)
    one = await delivery_on_record(store, webhook, first.delivery.message)
    assert (one.state, one.status, one.tries) == (DeliveryState.WAITING, 503, 1)
    assert (one.tried_at, one.next_at, one.took) == (clock.now, clock.now + seconds(7), seconds(0.25))
    dead = await delivery_on_record(store, webhook, second.delivery.message)
    assert (dead.state, dead.status, dead.next_at) == (DeliveryState.DEAD, None, None)
    assert (dead.problem or "").startswith("no route")
    assert await next_delivery(store) == clock.now + seconds(7)


async def test_a_try_that_does_not_count_costs_its_delivery_nothing(store: Store) -> None:
    """S1.73: an endpoint that is away does not spend the tries of all that waits for it."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    [one] = await due(store)
    await store.settle_deliveries("relay", [failed(one, counts=False)])
    assert (await delivery_on_record(store, webhook, "msg_0000")).tries == 0
    assert (await webhook_of(store, webhook)).failures == 1


async def test_of_one_webhook_so_many_are_under_way_among_all(
    store: Store, other: Store, clock: Clock
) -> None:
    """S1.73: the limit holds for all processes together, and frees with each that ends."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 12)
    mine = await due(store, "mine", each=5)
    assert len(mine) == 5
    assert await due(other, "theirs", each=5) == []
    assert await next_delivery(other) == clock.now + seconds(60)
    await store.settle_deliveries("mine", [tried(one) for one in mine[:2]])
    assert await next_delivery(other) == clock.now
    assert len(await due(other, "theirs", each=5)) == 2


async def test_webhooks_take_turns(store: Store, clock: Clock) -> None:
    """S1.73: what waits for one does not hold up what waits for another."""
    crowded = await subscribed(store)
    await waiting(store, crowded, 30)
    await clock.advance(seconds(1))
    small = [await subscribed(store) for _ in range(3)]
    for webhook in small:
        await waiting(store, webhook, 1)
    got = [one.webhook.id for one in await due(store, limit=4, each=30)]
    assert sorted(got) == sorted([crowded, *small])


async def test_a_webhook_that_fails_again_and_again_is_tried_by_one(
    store: Store, other: Store, clock: Clock
) -> None:
    """S1.73: after five failures in a row, and not before its own pause is over; the rest spends no tries."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 20)
    await fail(store, clock, 4)
    assert len(await due(store)) == 5
    await clock.advance(seconds(60))
    [first, *_] = await due(store)
    await store.settle_deliveries("relay", [failed(first, closes_for=seconds(300))])
    known = await webhook_of(store, webhook)
    assert (known.failures, known.failing_since) == (5, START)
    assert known.closed_until == clock.now + seconds(300)
    assert await due(other, "theirs") == []
    assert await next_delivery(store) == clock.now + seconds(300)
    await clock.advance(seconds(300))
    assert len(await due(store)) == 1
    assert await due(other, "theirs") == []
    assert await next_delivery(store) == clock.now + seconds(60)


async def test_one_delivery_opens_a_webhook_gently(store: Store, clock: Clock) -> None:
    """S1.73: ten a second for a minute, so that a receiver is not overrun when it is back."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 60)
    await fail(store, clock, 5)
    await clock.advance(seconds(1))
    [one] = await due(store)
    await store.settle_deliveries("relay", [tried(one)])
    known = await webhook_of(store, webhook)
    assert (known.failures, known.failing_since, known.delivered_at) == (0, None, clock.now)
    delivered = 0
    for _ in range(100):
        await clock.advance(seconds(0.01))
        got = await due(store)
        delivered += len(got)
        await store.settle_deliveries("relay", [tried(one) for one in got])
    assert delivered == 10
    await clock.advance(seconds(60))
    assert len(await due(store)) == 5


async def test_failures_in_a_row_are_ended_by_a_delivery(store: Store, clock: Clock) -> None:
    webhook = await subscribed(store)
    await waiting(store, webhook, 10)
    await fail(store, clock, 4)
    [one] = await due(store, limit=1)
    await store.settle_deliveries("relay", [tried(one)])
    assert (await webhook_of(store, webhook)).failures == 0
    assert len(await due(store)) == 5


async def test_a_webhook_that_is_gone_pauses_itself(store: Store, clock: Clock) -> None:
    """S1.73: after 410, or failures of days; who paused it and why is on record."""
    webhook, other = await subscribed(store), await subscribed(store)
    await waiting(store, webhook, 3)
    await waiting(store, other, 1)
    got = {one.webhook.id: one for one in await due(store, each=1)}
    ends = [
        tried(got[webhook], DeliveryState.DEAD, status=410, pauses="it answered 410"),
        tried(got[other]),
    ]
    assert await store.settle_deliveries("relay", ends) == [await webhook_of(store, webhook)]
    paused = await webhook_of(store, webhook)
    assert (paused.paused_at, paused.paused_by, paused.reason) == (clock.now, "tenure", "it answered 410")
    assert await due(store) == []
    assert await next_delivery(store) is None
    await store.resume_webhook(webhook, catches_up=True)
    assert (await webhook_of(store, webhook)).failures == 0
    assert len(await due(store)) == 1


async def test_a_pause_by_itself_holds_up_the_cursor_that_was_read(store: Store) -> None:
    """S1.17: what happens after the pause is caught up with, not passed."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    cursor = await taken(store)
    [one] = await due(store)
    await store.settle_deliveries("relay", [failed(one, pauses="three days of failures")])
    assert not await store.fan_out(cursor, cursor.position, [])


async def test_more_than_a_hundred_thousand_waiting_pause_a_webhook(
    store: Store, clock: Clock, backend: Backend
) -> None:
    """S1.17: a receiver that is away does not fill the store; when it is back nothing is missing."""
    webhook = await subscribed(store)
    await crowd(store, webhook)
    assert (await webhook_of(store, webhook)).paused_at is None
    await clock.advance(seconds(10))
    await one_more(store, webhook, "msg_more")
    paused = await webhook_of(store, webhook)
    assert (paused.paused_by, paused.reason) == ("tenure", "more than 100,000 deliveries are waiting")
    # Another webhook is not held up by what waits for this one.
    other = await subscribed(store)
    await waiting(store, other, 1)
    assert [one.webhook.id for one in await due(store)] == [other]

    await store.resume_webhook(webhook, catches_up=True)
    await one_more(store, webhook, "msg_still")
    assert (await webhook_of(store, webhook)).paused_at is None
    await clock.advance(timedelta(hours=1))
    await one_more(store, webhook, "msg_again")
    assert (await webhook_of(store, webhook)).paused_at is not None
    await fanned_out(store)


async def crowd(store: Store, webhook: UUID) -> None:
    """As many deliveries as may wait."""
    now = await store.now()
    for part in range(10):
        cursor = await taken(store)
        new = [by_hand(webhook, f"msg_{part}_{n}", at=now) for n in range(10_000)]
        assert await store.fan_out(cursor, cursor.position, new)


async def one_more(store: Store, webhook: UUID, message: str) -> None:
    cursor = await taken(store)
    while cursor.webhook is not None:
        cursor = await taken(store)
    assert await store.fan_out(cursor, cursor.position, [by_hand(webhook, message, at=await store.now())])


@pytest.mark.parametrize("state", list(DeliveryState))
async def test_a_delivery_is_sent_again_from_any_state(
    store: Store, clock: Clock, state: DeliveryState
) -> None:
    """S1.73: at once, under the same id, with all its tries before it."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    [one] = await due(store)
    await store.settle_deliveries("relay", [tried(one, state)])
    again = await store.redeliver(webhook, "msg_0000")
    assert again is not None
    assert (again.state, again.tries, again.next_at) == (DeliveryState.WAITING, 0, clock.now)
    assert [one.delivery.message for one in await due(store)] == ["msg_0000"]


async def test_a_try_under_way_does_not_undo_a_redelivery(store: Store, clock: Clock) -> None:
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    [one] = await due(store)
    await store.redeliver(webhook, "msg_0000")
    await store.settle_deliveries("relay", [tried(one, DeliveryState.DEAD)])
    assert (await delivery_on_record(store, webhook, "msg_0000")).state is DeliveryState.WAITING
    assert await store.redeliver(webhook, "msg_unknown") is None


async def test_a_message_is_recorded_once(store: Store, clock: Clock) -> None:
    webhook = await subscribed(store)
    first = await store.add_delivery(by_hand(webhook, at=clock.now))
    [one] = await due(store)
    await store.settle_deliveries("relay", [tried(one)])
    again = await store.add_delivery(by_hand(webhook, at=clock.now))
    assert first is not None
    assert again is not None
    assert (first.state, again.state) == (DeliveryState.WAITING, DeliveryState.DELIVERED)
    assert await store.add_delivery(by_hand(UUID(int=7), at=clock.now)) is None


async def test_an_idle_store_expects_no_delivery(store: Store) -> None:
    outlook = await store.outlook([])
    assert (outlook.next_delivery, outlook.has_cursor) == (None, False)
