"""Params and results are sent to those that may read them, whenever they are sent."""

import json
from uuid import UUID, uuid4

from tenure.core.reports.access import AuditEntry, NewKey
from tenure.core.values import key_text
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.relay import receiver as receivers
from tests.relay.receiver import Receiver, answer
from tests.relay.running_relay import end_jobs, hook, relay_on
from tests.storage.webhook_verbs import wanted, webhook_of
from tests.until import until

ENTRY = AuditEntry(who="ann", action="keys.create", target="k", request=uuid4())
BOTH = {"with_params": True, "with_result": True}


async def make_key(store: Store, *scopes: str) -> str:
    made = key_text.mint()
    await store.add_key(NewKey(id=made.id, digest=made.digest, name="k", scopes=scopes), ENTRY)
    return made.id


async def test_params_are_sent_only_while_the_key_that_asked_may_read(
    store: Store, receiver: Receiver
) -> None:
    """S1.79: it is seen when the event is fanned out."""
    reader, submitter = await make_key(store, "operate"), await make_key(store, "submit")
    await hook(store, f"{receiver.url}/reader", creator=reader, **BOTH)
    await hook(store, f"{receiver.url}/submitter", creator=submitter, **BOTH)
    await hook(store, f"{receiver.url}/operator", **BOTH)
    await hook(store, f"{receiver.url}/plain")
    params = write({"to": "ann", "password": "hunter2", "long": "x" * 10})
    async with relay_on(store):
        [first] = await end_jobs(store, 1, params=params)
        await until(lambda: len(receiver.requests) == 4)
        await store.revoke_key(reader, ENTRY)
        [second] = await end_jobs(store, 1, params=params)
        await until(lambda: len(receiver.requests) == 8)
        [third] = await end_jobs(store, 1, params=write({"long": "x" * 70_000}))
        await until(lambda: len(receiver.requests) == 12)
    sent = {(one.target, one.message): json.loads(one.body) for one in receiver.requests}
    shown = {"to": "ann", "password": "[redacted]", "long": "x" * 10}
    assert sent["/reader", first]["params"] == sent["/operator", first]["params"] == shown
    assert "result" in sent["/reader", first]
    for path, message in (
        ("/submitter", first),
        ("/plain", first),
        ("/reader", second),
        ("/submitter", second),
    ):
        assert not {"params", "result"} & set(sent[path, message])
    assert "hunter2" not in str([one.body for one in receiver.requests])
    assert sent["/operator", third]["omitted"] == ["params"]


async def test_what_is_sent_again_has_no_more_than_may_be_read_by_then(
    store: Store, receiver: Receiver
) -> None:
    """S1.79: not after the key was revoked, nor after the webhook no longer asks for it; the id stays."""
    key = await make_key(store, "operate")
    of_key = await hook(store, f"{receiver.url}/key", creator=key, **BOTH)
    edited = await hook(store, f"{receiver.url}/edited", **BOTH)
    kept = await hook(store, f"{receiver.url}/kept", **BOTH)
    async with relay_on(store):
        [message] = await end_jobs(store, 1, params=write({"to": "ann"}))
        await until(lambda: len(receiver.requests) == 3)
        before = {one.target: json.loads(one.body) for one in receiver.requests}
        await store.revoke_key(key, ENTRY)
        read = await webhook_of(store, edited)
        assert await store.change_webhook(read, wanted(id=edited, url=read.asked.url, with_result=True))
        for webhook in (of_key, edited, kept):
            await until(lambda one=webhook: _is_delivered(store, one, message))  # type: ignore[misc]
            assert await store.redeliver(webhook, message)
        await until(lambda: len(receiver.requests) == 6)
    after = {one.target: json.loads(one.body) for one in receiver.requests[3:]}
    assert {one.message for one in receiver.requests} == {message}
    assert all({"params", "result"} <= set(one) for one in before.values())
    assert after["/key"] == _without(before["/key"], "params", "result")
    assert after["/edited"] == _without(before["/edited"], "params")
    assert after["/kept"] == before["/kept"]


async def test_a_try_after_the_key_was_revoked_carries_none(store: Store, receiver: Receiver) -> None:
    """S1.79: what was noted before is not sent any more."""
    key = await make_key(store, "operate")
    webhook = await hook(store, receiver.url, creator=key, **BOTH)
    receiver.behave = answer(500)
    async with relay_on(store):
        [message] = await end_jobs(store, 1, params=write({"to": "ann"}))
        await receiver.has(1)
        await store.revoke_key(key, ENTRY)
        receiver.behave = receivers.OK
        await until(lambda: _is_delivered(store, webhook, message))
    first, *_, last = [json.loads(one.body) for one in receiver.requests]
    assert last == _without(first, "params", "result")
    assert "params" in first


async def _is_delivered(store: Store, webhook: UUID, message: str) -> bool:
    return any(one.message == message and one.status == 200 for one in await store.deliveries(webhook))


def _without(body: dict[str, object], *names: str) -> dict[str, object]:
    return {name: part for name, part in body.items() if name not in names}
