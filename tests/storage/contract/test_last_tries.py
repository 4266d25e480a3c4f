"""`last_tries`: how the deliveries of a webhook were tried last."""

from tenure.core.webhooks.delivery import DeliveryState, LastTries
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import seconds
from tests.storage.webhook_verbs import by_hand, due, subscribed, tried


async def test_each_delivery_has_its_last_try(store: Store, clock: Clock) -> None:
    hook, other = await subscribed(store), await subscribed(store)
    for name in ("a", "b", "c"):
        await store.add_delivery(by_hand(hook, name, at=await store.now()))
    ends = dict(zip("abc", (DeliveryState.WAITING, DeliveryState.DELIVERED, DeliveryState.DEAD), strict=True))
    held = await due(store)
    await store.settle_deliveries("relay", [tried(one, ends[one.delivery.message]) for one in held])
    first = await store.now()
    await clock.advance(seconds(10))
    await store.settle_deliveries("relay", [tried(one) for one in await due(store)])
    second = await store.now()
    await store.add_delivery(by_hand(hook, "new", at=await store.now()))

    found = await store.last_tries(hook)
    assert found.since is None
    assert {(one.at <= first, one.is_delivered) for one in found.tries} == {
        (True, True),
        (True, False),
        (False, True),
    }
    assert {one.took for one in found.tries} == {seconds(0.25)}
    assert [one.at for one in found.tries] == sorted(one.at for one in found.tries)
    assert first < found.tries[-1].at <= second
    assert await store.last_tries(other) == LastTries(None, [])


async def test_where_there_are_more_it_says_since_when_it_knows_all(store: Store, clock: Clock) -> None:
    hook = await subscribed(store)
    noted = []
    for n in range(3):
        noted.append(await store.now())
        await store.add_delivery(by_hand(hook, f"m{n}", at=await store.now()))
        await clock.advance(seconds(1))
    await store.settle_deliveries("relay", [tried(one) for one in await due(store)])
    found = await store.last_tries(hook, limit=2)
    assert found.since == noted[1]
    assert len(found.tries) == 2
