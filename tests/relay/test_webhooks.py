"""What sends webhooks, against real receivers, on both stores."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

from tenure.core.signals import WebhookPaused, WebhookTried
from tenure.core.values.failure import Failure
from tenure.core.webhooks.delivery import Delivery, DeliveryState
from tenure.core.webhooks.signature import derived_secret, random_secret
from tenure.core.webhooks.webhook import BY_ITSELF, MOST_AT_ONCE, NewWebhook
from tenure.storage.contract.store import Store
from tenure.webhooks import verify
from tests.relay import receiver as receivers
from tests.relay.receiver import Receiver, answer
from tests.relay.running_relay import SECRET, end_jobs, fail_job, hook, relay_on, settled
from tests.storage.verbs import enqueue_one
from tests.until import until


async def test_every_event_that_is_wanted_arrives_once_and_signed(store: Store, receiver: Receiver) -> None:
    """S1.17, S1.73, S1.79"""
    webhook = await hook(store, f"{receiver.url}/in", "onEnd")
    async with relay_on(store) as announced:
        messages = await end_jobs(store, 25)
        await receiver.has(25)
        await settled(store, webhook, 25)
    assert receiver.messages() == dict.fromkeys(messages, 1)
    assert all(one.fits(SECRET) for one in receiver.requests)
    events = [verify(one.body, one.headers, SECRET) for one in receiver.requests]
    assert {(event.type, event.state, event.n, event.definition) for event in events} == {
        ("succeeded", "succeeded", 3, "mail")
    }
    tried = [one for one in announced if isinstance(one, WebhookTried)]
    assert [one.outcome for one in tried] == ["delivered"] * 25


async def test_a_webhook_gets_what_it_asks_for_and_nothing_else(store: Store, receiver: Receiver) -> None:
    """S1.73"""
    asked: dict[str, dict[str, Any]] = {
        "/all": {"events": ("onStart", "onEnd")},
        "/failed": {"events": ("onFail",)},
        "/queue": {"events": ("queued",), "queues": ("slow",)},
        "/tag": {"events": ("queued",), "tags": ("red", "blue")},
        "/space": {"events": ("queued",), "namespace": "acme"},
        "/definition": {"events": ("queued",), "definitions": ("other",)},
    }
    for path, terms in asked.items():
        await hook(store, receiver.url + path, *terms.pop("events"), **terms)
    async with relay_on(store):
        failed = await fail_job(store)
        slow = await enqueue_one(store, queue="slow")
        red = await enqueue_one(store, queue="q", tags=("red", "green"))
        inner = await enqueue_one(store, queue="q", namespace="acme")
        other = await enqueue_one(store, "other")
        await until(lambda: len(receiver.requests) >= 7)
        last = await fail_job(store)
        await until(lambda: len(receiver.requests) >= 10)
    got = {path: set(receiver.messages(path)) for path in asked}
    ends = {f"msg_{job.hex}_{n}" for job in (failed, last) for n in (2, 3)}
    assert got == {
        "/all": ends,
        "/failed": {one for one in ends if one.endswith("_3")},
        "/queue": {f"msg_{slow.hex}_1"},
        "/tag": {f"msg_{red.hex}_1"},
        "/space": {f"msg_{inner.hex}_1"},
        "/definition": {f"msg_{other.hex}_1"},
    }


async def test_a_failure_is_told_with_its_error_and_without_secrets(store: Store, receiver: Receiver) -> None:
    """S1.79: nor is its traceback, nor a secret in the reason of an operator."""
    await hook(store, receiver.url, "onFail", "cancelled")
    async with relay_on(store):
        await fail_job(store, Failure("ValueError", "boom, password=hunter2", "File /srv/app.py"))
        await store.cancel([await enqueue_one(store)], reason="token: hunter2")
        sent = [json.loads(one.body) for one in await receiver.has(2)]
    told = {one["type"]: one for one in sent}
    assert told["failed"]["error"] == {"kind": "ValueError", "message": "boom, password=[redacted]"}
    assert told["cancelled"]["reason"] == "token: [redacted]"
    assert "hunter2" not in str(sent)
    assert "/srv" not in str(sent)


async def test_an_endpoint_that_hangs_delays_no_other(store: Store, receiver: Receiver) -> None:
    """S1.73: it holds its own places only."""
    receiver.paths["/hangs"] = receivers.hang
    await hook(store, f"{receiver.url}/hangs", timeout=timedelta(seconds=30))
    good = await hook(store, f"{receiver.url}/good")
    async with relay_on(store):
        messages = await end_jobs(store, 40)
        await until(lambda: len(receiver.messages("/good")) == 40)
        await settled(store, good, 40)
        hanging = [one for one in receiver.requests if one.target == "/hangs"]
        assert len(hanging) <= MOST_AT_ONCE
        receiver.paths.clear()
    assert receiver.messages("/good") == dict.fromkeys(messages, 1)


BEHAVIOURS = {
    "/500": (answer(500), 500, None),
    "/302": (answer(302, "Location: /elsewhere"), 302, None),
    "/404": (answer(404), 404, None),
    "/429": (answer(429, "Retry-After: 1"), 429, None),
    "/reset": (receivers.reset, None, "the connection ended"),
    "/babble": (receivers.babble, None, "the connection ended"),
    "/hang": (receivers.hang, None, "no whole answer within 1 s"),
    "/drip": (receivers.drip, None, "no whole answer within 1 s"),
}


async def test_whatever_a_receiver_does_the_event_comes_again_under_its_id(
    store: Store, receiver: Receiver
) -> None:
    """S1.73"""
    hooks = {}
    for path, (behave, _, _) in BEHAVIOURS.items():
        receiver.paths[path] = behave
        hooks[path] = await hook(store, receiver.url + path, timeout=timedelta(seconds=1))
    flooded = await hook(store, f"{receiver.url}/flood")
    receiver.paths["/flood"] = receivers.flood
    async with relay_on(store):
        [message] = await end_jobs(store, 1)

        first: dict[str, Delivery] = {}

        async def have_been_tried() -> bool:
            # Those that answer at once may be tried again before those that hang have failed.
            for path in hooks.keys() - first.keys():
                found = await store.delivery(hooks[path], message)
                if found is not None and found.tries == 1:
                    first[path] = found
            return len(first) == len(hooks)

        await until(have_been_tried)
        receiver.paths.clear()
        for path, (_, status, problem) in BEHAVIOURS.items():
            one = first[path]
            assert (one.state, one.status) == (DeliveryState.WAITING, status)
            assert (one.problem or "").startswith(problem or "")
            assert one.next_at is not None
        for webhook in [*hooks.values(), flooded]:
            [delivery] = await settled(store, webhook, 1)
            assert (delivery.message, delivery.status) == (message, 200)
    assert "/elsewhere" not in {one.target for one in receiver.requests}
    assert set(receiver.messages()) == {message}
    assert all(count >= 2 for path, count in _counts(receiver).items() if path != "/flood")


def _counts(receiver: Receiver) -> dict[str, int]:
    return {path: sum(receiver.messages(path).values()) for path in {one.target for one in receiver.requests}}


async def test_gone_pauses_the_endpoint_and_what_waits_stays(store: Store, receiver: Receiver) -> None:
    receiver.behave = answer(410)
    webhook = await hook(store, f"{receiver.url}/secret-path?token=1")
    async with relay_on(store) as announced:
        [message] = await end_jobs(store, 1)
        await until(lambda: any(isinstance(one, WebhookPaused) for one in announced))
        paused = await store.webhook(webhook)
        assert paused is not None
        assert (paused.paused_by, paused.paused_at is None) == (BY_ITSELF, False)
        [signal] = [one for one in announced if isinstance(one, WebhookPaused)]
        assert (signal.host, "410" in signal.reason) == ("127.0.0.1", True)
        receiver.behave = receivers.OK
        later = await end_jobs(store, 2)
        await store.resume_webhook(webhook, catches_up=True)
        await settled(store, webhook, 3)
    assert set(receiver.messages()) == {message, *later}


async def test_two_secrets_sign_while_one_replaces_the_other(store: Store, receiver: Receiver) -> None:
    """S1.79"""
    webhook = await hook(store, receiver.url)
    new = random_secret()
    await store.rotate_webhook(webhook, secret=new, keep=timedelta(hours=1))
    async with relay_on(store):
        await end_jobs(store, 1)
        [request] = await receiver.has(1)
    assert request.fits(SECRET)
    assert request.fits(new)
    assert len(request.headers["webhook-signature"].split(" ")) == 2


async def test_a_derived_secret_signs_where_the_key_is_known(store: Store, receiver: Receiver) -> None:
    """S1.79: a process without the key sends nothing that nobody can verify."""
    key = "k" * 40
    new = NewWebhook(id=uuid4(), url=receiver.url, events=("onEnd",))
    webhook = await store.add_webhook(new, secret=None)
    async with relay_on(store):
        [message] = await end_jobs(store, 1)

        async def refused() -> bool:
            found = await store.delivery(webhook.id, message)
            return found is not None and "TENURE_WEBHOOK_KEY" in (found.problem or "")

        await until(refused)
    assert not receiver.requests
    await store.redeliver(webhook.id, message)
    async with relay_on(store, webhook_key=key):
        [request] = await receiver.has(1)
    assert request.fits(derived_secret(key, webhook.id, webhook.rotation))


async def test_one_process_goes_on_for_another(store: Store, receiver: Receiver) -> None:
    """Each event is told once, whoever reads it."""
    webhook = await hook(store, receiver.url)
    async with relay_on(store):
        async with relay_on(store):
            messages = await end_jobs(store, 10)
            await settled(store, webhook, 10)
        messages += await end_jobs(store, 10)
        await settled(store, webhook, 20)
    assert receiver.messages() == dict.fromkeys(messages, 1)


async def test_a_webhook_that_is_changed_between_reading_and_recording_is_judged_anew(
    store: Store, receiver: Receiver
) -> None:
    """What commits after a webhook was made is told, though the feed was read further before."""
    first = await hook(store, f"{receiver.url}/first", "failed")
    async with relay_on(store):
        await end_jobs(store, 3)
        second = await hook(store, f"{receiver.url}/second", "succeeded")
        messages = await end_jobs(store, 3)
        await settled(store, second, 3)
        failed = await fail_job(store)
        await settled(store, first, 1)
    assert set(messages) <= set(receiver.messages("/second"))
    assert set(receiver.messages("/first")) == {f"msg_{failed.hex}_3"}
