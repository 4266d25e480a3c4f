"""Webhooks that a process cannot read: it leaves them to others, and everything else goes on."""

from datetime import timedelta
from uuid import UUID

import pytest

from tenure.core.model.states import State
from tenure.core.reports.retention import Retention
from tenure.core.webhooks.webhook import KnownWebhook, UnreadableWebhook, Webhook
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import count, fed, job_in, seconds
from tests.storage.webhook_verbs import due, fanned_out, move, pass_by, subscribed, taken, told, waiting

NEWER = """replace(spec, '"format":1', '"format":2')"""
OLDER = """replace(spec, '"format":2', '"format":1')"""
DAMAGE = {
    "a newer version wrote it": NEWER,
    "no JSON": "'{'",
    "an event of an unknown kind": """replace(spec, '"onEnd"', '"onMoon"')""",
    "a filter of an unknown kind": """replace(spec, '"queues":[]', '"queues":{"not":["mail"]}')""",
    "a bound that is none": """replace(spec, '"tries":15', '"tries":-1')""",
}
SHORT = Retention(succeeded=seconds(1), others=seconds(1), keyed=seconds(1), logs=None)


async def write(backend: Backend, webhook: UUID, spec: str) -> None:
    await backend.sql(f"UPDATE tenure.webhook SET spec = {spec} WHERE id = '{webhook}'")


@pytest.mark.parametrize("spec", DAMAGE.values(), ids=DAMAGE.keys())
async def test_it_is_answered_as_such_and_its_deliveries_wait(
    store: Store, backend: Backend, spec: str
) -> None:
    """S1.73: those of others are due, and an idle process does not look again and again."""
    bad, good = await subscribed(store), await subscribed(store)
    await waiting(store, bad, 1)
    await write(backend, bad, spec)
    known: dict[UUID, KnownWebhook] = {one.id: one for one in await store.webhooks()}
    assert isinstance(known[good], Webhook)
    left = known[bad]
    assert isinstance(left, UnreadableWebhook)
    assert "newer version" in left.problem
    assert await due(store) == []
    assert (await store.outlook([])).next_delivery is None
    await waiting(store, good, 1)
    assert [one.webhook.id for one in await due(store)] == [good]
    paused = await store.pause_webhook(bad, by="ann")
    assert isinstance(paused, UnreadableWebhook)
    assert paused.paused_by == "ann"
    assert await store.delete_webhook(bad)


async def test_deliveries_are_tried_as_soon_as_it_is_mended(store: Store, backend: Backend) -> None:
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    await write(backend, webhook, NEWER)
    assert await due(store) == []
    await write(backend, webhook, OLDER)
    assert (await store.outlook([])).next_delivery is not None
    assert len(await due(store)) == 1


async def test_what_passes_is_left_to_a_process_that_can_read_it(store: Store, backend: Backend) -> None:
    """S1.17, S1.73: whoever cannot does not get that cursor; who can sends every event once."""
    webhook = await subscribed(store)
    await write(backend, webhook, NEWER)
    assert await store.webhooks() != []  # read by whoever holds the cursor
    jobs = []
    for _ in range(3):
        jobs.append(await job_in(store, State.CANCELLED))
        await pass_by(store, await taken(store), webhook)
    assert [(await taken(store)).webhook for _ in range(3)] == [None] * 3
    await write(backend, webhook, OLDER)
    jobs.append(await job_in(store, State.CANCELLED))
    await fanned_out(store, limit=2)
    assert await told(store, webhook) == [(job, "cancelled") for job in jobs]
    assert await count(backend, "tenure.cursor") == 1


async def test_what_is_left_while_another_catches_up_is_not_lost(store: Store, backend: Backend) -> None:
    """S1.17: one that has come to the end that it knew goes on with what came since."""
    webhook = await subscribed(store)
    first = await job_in(store, State.CANCELLED)
    seen = await fed(store, 2)
    await pass_by(store, await taken(store), webhook)
    own = await taken(store, "newer")
    assert own.until is not None
    second = await job_in(store, State.CANCELLED)
    await fed(store, 2, after=seen[-1].position)
    await pass_by(store, await taken(store), webhook)
    assert not await store.fan_out(own, own.until, [], is_end=True)
    assert await move(store, await taken(store, "newer")) == (True, True)
    assert await told(store, webhook) == [(first, "cancelled"), (second, "cancelled")]


async def test_its_events_are_kept_for_it_for_a_week(store: Store, backend: Backend, clock: Clock) -> None:
    """S1.17: as long as somebody moves the feed on, up to a week beyond the time of a job."""
    webhook = await subscribed(store)
    await write(backend, webhook, NEWER)
    await store.webhooks()
    await job_in(store, State.CANCELLED)
    for _ in range(13):
        await clock.advance(timedelta(hours=12))
        await pass_by(store, await taken(store), webhook)
        assert (await store.prune(SHORT)).jobs == 0
    await clock.advance(timedelta(hours=13))
    await pass_by(store, await taken(store), webhook)
    assert (await store.prune(SHORT)).jobs == 1


async def test_one_that_is_created_paused_gets_nothing_until_it_is_resumed(store: Store) -> None:
    """S1.73: then from its creation on, if that is asked for, or from then."""
    early, late = (
        await subscribed(store, paused_by="ann"),
        await subscribed(store, paused_by="ann"),
    )
    job = await job_in(store, State.CANCELLED)
    await fanned_out(store)
    for webhook in (early, late):
        assert await told(store, webhook) == []
        [paused] = [one for one in await store.webhooks() if one.id == webhook]
        assert (paused.paused_by, paused.paused_at is None) == ("ann", False)
    await store.resume_webhook(early, catches_up=True)
    await store.resume_webhook(late, catches_up=False)
    next_job = await job_in(store, State.CANCELLED)
    await fanned_out(store)
    assert await told(store, early) == [(job, "cancelled"), (next_job, "cancelled")]
    assert await told(store, late) == [(next_job, "cancelled")]
