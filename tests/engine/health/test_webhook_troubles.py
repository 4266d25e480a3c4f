"""Webhooks that need an operator: paused by themselves, failing for long, or made with a key that is gone."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from tenure.core.reports.access import AuditEntry, NewKey
from tenure.core.reports.health import Symptom
from tenure.core.webhooks.delivery import DeliveryState, NewDelivery
from tenure.core.webhooks.webhook import NewWebhook
from tenure.engine.health.attention import AttentionCheck
from tenure.engine.health.checkup import examine
from tenure.engine.health.symptoms import symptoms_of
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import seconds
from tests.storage.webhook_verbs import try_due


async def put(store: Store, *, secret: str | None = None, **terms: Any) -> UUID:
    new = NewWebhook(**{"id": uuid4(), "url": "https://hooks.example/t0p", "events": ("failed",), **terms})
    return (await store.add_webhook(new, secret=secret)).id


async def fail(store: Store, webhook: UUID, **how: Any) -> None:
    """One delivery, whose first try fails."""
    message, now = f"msg_{uuid4().hex}", await store.now()
    await store.add_delivery(NewDelivery(webhook=webhook, message=message, type="failed", at=now, body="{}"))
    await try_due(store, **{"state": DeliveryState.DEAD, "status": 500, **how})


async def told(store: Store) -> list[Symptom]:
    found = symptoms_of(await AttentionCheck(store).look())
    return [one for one in found if one.kind.startswith("webhook")]


async def make_key(store: Store, **rest: Any) -> str:
    entry = AuditEntry(who="ann", action="keys create", target="k", request=uuid4())
    key = NewKey(**{"id": uuid4().hex[:10], "digest": b"x" * 32, "name": "k", "scopes": ("operate",), **rest})
    await store.add_key(key, entry)
    return key.id


async def test_one_that_paused_itself_is_told_and_one_that_a_person_paused_is_not(store: Store) -> None:
    """S1.73: an endpoint that is gone for good needs a person."""
    gone, by_hand = await put(store), await put(store)
    await fail(store, gone, status=410, pauses="it answered 410")
    await store.pause_webhook(by_hand, by="ann")
    [symptom] = await told(store)
    assert (symptom.kind, symptom.needs_person) == ("webhook-paused", True)
    assert "it answered 410" in symptom.what
    assert str(gone) in symptom.what
    assert "hooks.example" in symptom.what
    assert "t0p" not in symptom.what
    await store.resume_webhook(gone, catches_up=True)
    assert await told(store) == []


async def test_one_that_fails_is_told_after_a_while_and_until_it_delivers(store: Store, clock: Clock) -> None:
    webhook = await put(store)
    await fail(store, webhook)
    assert await told(store) == []
    await clock.advance(seconds(601))
    [symptom] = await told(store)
    assert (symptom.kind, symptom.needs_person) == ("webhook-failing", False)
    await fail(store, webhook, state=DeliveryState.DELIVERED, status=200)
    assert await told(store) == []


async def test_one_whose_key_is_gone_is_told_if_it_asks_for_params(store: Store, clock: Clock) -> None:
    """S1.79: whoever waits for params learns why none come."""
    holds, brief, revoked = (
        await make_key(store),
        await make_key(store, lifetime=timedelta(hours=1)),
        await make_key(store),
    )
    blind = await make_key(store, scopes=("submit",))
    for key in (holds, brief, revoked, blind, "unknown", None):
        await put(store, creator=key, with_params=True)
        await put(store, creator=key, url="https://other.example/")
    entry = AuditEntry(who="ann", action="keys revoke", target=revoked, request=uuid4())
    await store.revoke_key(revoked, entry)
    assert {one.what.partition("the key ")[2].split()[0] for one in await told(store)} == {
        *(revoked, blind, "unknown"),
    }
    await clock.advance(seconds(3601))
    assert {one.kind for one in await told(store)} == {"webhook-key"}
    assert len(await told(store)) == 4


async def test_secrets_that_are_stored_are_told_by_an_examination(store: Store) -> None:
    """S1.79: as long as any secret that still signs is stored."""
    await put(store)
    assert [one for one in (await examine(store)).symptoms if one.kind == "webhook-secrets"] == []
    webhook = await put(store, secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    [symptom] = [one for one in (await examine(store)).symptoms if one.kind == "webhook-secrets"]
    assert (symptom.needs_person, "1 webhook" in symptom.what) == (False, True)
    assert "whsec" not in symptom.what
    await store.rotate_webhook(webhook, secret=None, keep=timedelta(0))
    assert [one for one in (await examine(store)).symptoms if one.kind == "webhook-secrets"] == []


async def test_that_nothing_sends_events_is_told_after_a_day(store: Store, clock: Clock) -> None:
    await put(store)
    await clock.advance(timedelta(hours=23))
    assert [one for one in (await examine(store)).symptoms if one.kind == "webhooks-idle"] == []
    await clock.advance(timedelta(hours=2))
    [symptom] = [one for one in (await examine(store)).symptoms if one.kind == "webhooks-idle"]
    assert symptom.needs_person
    assert await store.take_cursor("a", hold_for=seconds(10)) is not None
    assert [one for one in (await examine(store)).symptoms if one.kind == "webhooks-idle"] == []


async def test_one_that_this_version_cannot_read_is_told(store: Store, backend: Backend) -> None:
    """S1.73: its events are kept meanwhile; one that a person paused is not told."""
    newer, by_hand = await put(store), await put(store)
    await store.pause_webhook(by_hand, by="ann")
    await backend.sql("UPDATE tenure.webhook SET spec = '{'")
    [symptom] = await told(store)
    assert (symptom.kind, symptom.needs_person) == ("webhook-unreadable", True)
    assert str(newer) in symptom.what
    assert "newer version" in symptom.what
    assert f"tenure webhooks delete {newer}" in symptom.cure
