"""A process that cannot read one of the webhooks goes on with all others, and loses nothing of that one."""

import asyncio

from tenure.storage.contract.store import Store
from tests.relay.receiver import Receiver
from tests.relay.running_relay import end_jobs, hook, relay_on
from tests.storage.contract.test_webhooks_unreadable import NEWER, OLDER
from tests.surfaces.command import sql
from tests.until import until


async def test_one_that_cannot_be_read_stops_no_other_and_gets_its_events_later(
    address: str, store: Store, receiver: Receiver
) -> None:
    """S1.17, S1.73: each event once, whichever process can send it."""
    bad, good = await hook(store, f"{receiver.url}/bad"), await hook(store, f"{receiver.url}/good")
    await asyncio.to_thread(sql, address, f"UPDATE tenure.webhook SET spec = {NEWER} WHERE id = '{bad}'")
    async with relay_on(store):
        messages = await end_jobs(store, 20)
        await receiver.has(20, "/good")
        await store.pause_webhook(good)  # whatever changes, the webhooks are read anew
        await store.resume_webhook(good, catches_up=True)
        messages += await end_jobs(store, 20)
        await receiver.has(40, "/good")
    assert receiver.messages("/bad") == {}
    await asyncio.to_thread(sql, address, f"UPDATE tenure.webhook SET spec = {OLDER} WHERE id = '{bad}'")
    async with relay_on(store):
        messages += await end_jobs(store, 1)
        await receiver.has(41, "/bad")
        await receiver.has(41, "/good")
        await until(lambda: _all_delivered(store))
    expected = dict.fromkeys(messages, 1)
    assert (receiver.messages("/bad"), receiver.messages("/good")) == (expected, expected)


async def _all_delivered(store: Store) -> bool:
    figures = await store.webhook_figures([one.id for one in await store.webhooks()])
    return not any(one.waiting for one in figures.values())
