"""Webhooks on record: what is kept, listed, changed and removed, and who sees their secrets."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tenure.core.errors import InvalidInput
from tenure.core.webhooks.webhook import Secret, WebhookFigures
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import START, Clock
from tests.storage.verbs import count, seconds
from tests.storage.webhook_verbs import due, subscribed, waiting, wanted, webhook_of


async def test_a_webhook_is_kept_as_it_was_asked_for(store: Store) -> None:
    """S1.17, S1.73: url, events, filters, tries and timeout of each subscription."""
    new = wanted(
        "onStart",
        "custom:page.sent",
        namespace="acme",
        definitions=("mail", "report"),
        queues=("slow",),
        tags=("a", "b"),
        with_params=True,
        with_result=True,
        tries=3,
        timeout=seconds(4),
        creator="key_1",
    )
    added = await store.add_webhook(new, secret="whsec_1")
    assert added.asked == new
    assert (added.revision, added.rotation, added.created_at, added.paused_at) == (1, 1, START, None)
    assert await store.webhook(new.id) == added
    assert await store.webhooks() == [added]


async def test_one_id_is_one_webhook(store: Store, backend: Backend) -> None:
    new = wanted()
    await store.add_webhook(new, secret=None)
    with pytest.raises(InvalidInput, match="which a webhook has"):
        await store.add_webhook(new, secret="whsec_2")
    assert await store.webhook_secrets(new.id) == (Secret(1, None),)
    assert await count(backend, "tenure.webhook") == 1


async def test_webhooks_are_listed_by_id_and_by_namespace(store: Store) -> None:
    ours = sorted([await subscribed(store, namespace="acme") for _ in range(3)])
    other = await subscribed(store, namespace="zoo")
    of_all = await subscribed(store)
    everything = sorted([*ours, other, of_all])
    assert [one.id for one in await store.webhooks()] == everything
    assert [one.id for one in await store.webhooks(limit=2)] == everything[:2]
    assert [one.id for one in await store.webhooks(after=everything[1])] == everything[2:]
    assert [one.id for one in await store.webhooks(namespace="acme", after=ours[0])] == ours[1:]


async def test_a_change_counts_only_for_who_has_read_it_last(store: Store, clock: Clock) -> None:
    read = await webhook_of(store, await subscribed(store, "onFail"))
    await clock.advance(seconds(5))
    asked = replace(read.asked, events=("onEnd",), tries=1)
    changed = await store.change_webhook(read, asked)
    assert changed is not None
    assert (changed.asked, changed.revision, changed.updated_at) == (asked, 2, clock.now)
    assert await store.change_webhook(read, read.asked) is None
    assert await webhook_of(store, read.id) == changed


async def test_two_secrets_sign_while_one_replaces_the_other(
    store: Store, clock: Clock, backend: Backend
) -> None:
    """S1.73: receivers have time to change over; no secret is kept longer than it signs."""
    webhook = await subscribed(store)
    rotated = await store.rotate_webhook(webhook, secret="whsec_new", keep=timedelta(hours=24))
    assert rotated is not None
    assert rotated.rotation == 2
    both = (Secret(2, "whsec_new"), Secret(1, "whsec_old"))
    assert await store.webhook_secrets(webhook) == both
    await waiting(store, webhook, 1)
    [one] = await due(store)
    assert one.secrets == both

    await clock.advance(timedelta(hours=24))
    assert await store.webhook_secrets(webhook) == both[:1]
    await store.tidy()
    assert await count(backend, "tenure.webhook_secret") == 1


async def test_of_three_secrets_the_oldest_signs_no_more(store: Store) -> None:
    webhook = await subscribed(store)
    for rotation in (2, 3):
        await store.rotate_webhook(webhook, secret=f"whsec_{rotation}", keep=timedelta(hours=24))
    assert await store.webhook_secrets(webhook) == (Secret(3, "whsec_3"), Secret(2, "whsec_2"))


async def test_a_secret_is_shown_to_nobody_who_does_not_sign(store: Store) -> None:
    """S1.17: neither by a list nor where values are written out, as in a log."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    shown = [await store.webhooks(), await store.deliveries(webhook), await due(store)]
    assert "whsec_old" not in repr(shown)
    assert "whsec_old" not in str(await store.webhook_secrets(webhook))


async def test_what_is_deleted_is_gone_with_all_of_it(store: Store, backend: Backend) -> None:
    webhook, other = await subscribed(store), await subscribed(store)
    await waiting(store, webhook, 3)
    await waiting(store, other, 1)
    assert await store.delete_webhook(webhook)
    assert not await store.delete_webhook(webhook)
    assert await store.webhook(webhook) is None
    assert await store.webhook_secrets(webhook) == ()
    assert await store.deliveries(webhook) == []
    assert await store.delivery(webhook, "msg_0000") is None
    assert await store.redeliver(webhook, "msg_0000") is None
    assert await store.webhook_figures([webhook]) == {}
    assert [one.webhook.id for one in await due(store)] == [other]
    await store.tidy()
    assert await count(backend, "tenure.delivery") == 1


async def test_nothing_is_done_to_a_webhook_that_does_not_exist(store: Store) -> None:
    gone = wanted().id
    assert await store.webhook(gone) is None
    assert await store.rotate_webhook(gone, secret=None, keep=seconds(1)) is None
    assert await store.pause_webhook(gone) is None
    assert await store.resume_webhook(gone, catches_up=True) is None
    assert await store.resume_webhook(gone, catches_up=False) is None
    assert await store.redeliver_since(gone, START) is None
    assert await store.webhook_secrets(gone) == ()
    assert await store.take_cursor("relay", hold_for=seconds(1)) is None


async def test_figures_say_how_deliveries_do(store: Store, clock: Clock) -> None:
    """S1.79: how many wait, since when, and how many were delivered and given up."""
    webhook, idle = await subscribed(store), await subscribed(store)
    await waiting(store, webhook, 3)
    assert await store.webhook_figures([webhook, idle]) == {
        webhook: WebhookFigures(waiting=3, oldest_waiting=clock.now, delivered=0, dead=0),
        idle: WebhookFigures(waiting=0, oldest_waiting=None, delivered=0, dead=0),
    }
