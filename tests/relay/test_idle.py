"""What a process that sends webhooks asks of the store while there is nothing to send."""

import time
from collections import Counter

from tenure.storage.contract.store import Store
from tenure.telemetry.metrics.timed_store import timed
from tests.relay.receiver import Receiver
from tests.relay.running_relay import end_jobs, hook, relay_on, settled
from tests.until import until

MINE = frozenset(
    ("take_cursor", "scan", "fan_out", "due_deliveries", "settle_deliveries", "webhooks", "webhook", "listen")
)


async def test_without_webhooks_nothing_is_asked_of_the_store(store: Store, receiver: Receiver) -> None:
    """What does not use webhooks does not pay for them."""
    called: list[str] = []
    counted = timed(store, lambda verb, _seconds, _error: called.append(verb))
    async with relay_on(counted):
        await until(lambda: called.count("outlook") > 3)
        await end_jobs(store, 5)
        looks = called.count("outlook")
        await until(lambda: called.count("outlook") > looks + 5)
        assert not MINE & set(called)
        webhook = await hook(store, receiver.url)
        await end_jobs(store, 1)
        await receiver.has(1)
        await settled(store, webhook, 1)
        await store.delete_webhook(webhook)
        await until(lambda: _is_quiet(called))


async def test_while_nothing_comes_little_is_asked_for_a_webhook(store: Store, receiver: Receiver) -> None:
    """An idle process with a webhook writes only that it is there; its looks become fewer."""
    called: list[str] = []
    counted = timed(store, lambda verb, _seconds, _error: called.append(verb))
    webhook = await hook(store, receiver.url)
    async with relay_on(counted):
        await end_jobs(store, 1)
        await settled(store, webhook, 1)
        await until(lambda: called.count("outlook") > 3)
        called.clear()
        began = time.monotonic()
        await until(lambda: called.count("outlook") > 12)
        asked, took = Counter(called), time.monotonic() - began
        assert asked["fan_out"] <= 1, asked
        assert asked["take_cursor"] <= 2 + took / 3, (asked, took)
        assert asked["scan"] <= 4 + took, (asked, took)
        messages = await end_jobs(store, 1)
        await until(lambda: messages[0] in receiver.messages())


def _is_quiet(called: list[str]) -> bool:
    """Whether the last five looks saw nothing of ours between them."""
    looks = 0
    for verb in reversed(called):
        if verb in MINE:
            return False
        looks += verb == "outlook"
        if looks == 5:
            return True
    return False
