"""Webhooks that are told of what was before: since a moment, while they were paused, and once more."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.webhooks.delivery import DeliveryState
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import count, job_in, seconds
from tests.storage.webhook_verbs import (
    by_hand,
    due,
    fanned_out,
    move,
    subscribed,
    taken,
    told,
    tried,
    webhook_of,
)

HOUR = timedelta(hours=1)


async def ended(store: Store, clock: Clock, number: int = 1, apart: timedelta = HOUR) -> list[UUID]:
    """Jobs that ended one after the other, with time in between."""
    jobs = []
    for _ in range(number):
        jobs.append(await job_in(store, State.CANCELLED))
        await clock.advance(apart)
    return jobs


async def jobs_told(store: Store, webhook: UUID) -> list[UUID | None]:
    return [job for job, _ in await told(store, webhook)]


async def test_a_webhook_may_begin_before_it_was_made(store: Store, clock: Clock, backend: Backend) -> None:
    """S1.17: from a moment on, as far as events are kept, and each once."""
    jobs = await ended(store, clock, 8)
    since = clock.now - 3 * HOUR
    webhook = await subscribed(store, since=since)
    jobs += await ended(store, clock, 2)
    await fanned_out(store, limit=1)
    assert await jobs_told(store, webhook) == jobs[5:]
    assert await count(backend, "tenure.cursor") == 1


async def test_the_beginning_is_found_without_reading_what_was_before(store: Store, clock: Clock) -> None:
    """What is behind an hour's margin is left out by the position, not one by one."""
    jobs = await ended(store, clock, 12)
    await subscribed(store, since=clock.now - 4 * HOUR)
    [own] = [one for one in [await taken(store), await taken(store)] if one.webhook is not None]
    assert own.since == clock.now - 4 * HOUR
    found = await store.scan(own.position, types=frozenset({"cancelled"}), until=own.until)
    assert [event.entry.event.job for event in found.events] == jobs[7:]


async def test_of_a_store_without_events_a_webhook_gets_what_comes(store: Store, clock: Clock) -> None:
    webhook = await subscribed(store, since=clock.now - HOUR)
    jobs = await ended(store, clock, 2)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == jobs


async def test_nothing_is_fanned_out_to_a_paused_webhook(store: Store, clock: Clock) -> None:
    """S1.73: it keeps the place where it was paused, and another webhook goes on."""
    webhook, other = await subscribed(store), await subscribed(store)
    [first] = await ended(store, clock)
    await fanned_out(store)
    paused = await store.pause_webhook(webhook, by="ada", reason="maintenance")
    assert paused is not None
    assert (paused.paused_at, paused.paused_by, paused.reason) == (clock.now, "ada", "maintenance")
    assert await store.pause_webhook(webhook, by="bob") == paused
    later = await ended(store, clock, 2)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == [first]
    assert await jobs_told(store, other) == [first, *later]
    assert [one.webhook.id for one in await due(store)] == [other] * 3


async def test_a_webhook_goes_on_from_where_it_was_paused(store: Store, clock: Clock) -> None:
    """S1.73: no event is missing, whether it was fanned out to others meanwhile or not."""
    webhook, _ = await subscribed(store), await subscribed(store)
    jobs = await ended(store, clock)
    await fanned_out(store)
    await store.pause_webhook(webhook)
    jobs += await ended(store, clock, 2)
    await fanned_out(store)
    jobs += await ended(store, clock)
    resumed = await store.resume_webhook(webhook, catches_up=True)
    assert resumed is not None
    assert (resumed.paused_at, resumed.paused_by, resumed.reason) == (None, None, None)
    jobs += await ended(store, clock)
    await fanned_out(store, limit=1)
    assert await jobs_told(store, webhook) == jobs


async def test_a_webhook_goes_on_from_now(store: Store, clock: Clock) -> None:
    """What it was to be sent is given up, also what nobody had fanned out yet."""
    webhook = await subscribed(store)
    [first] = await ended(store, clock)
    await fanned_out(store)
    await store.pause_webhook(webhook)
    await ended(store, clock, 2)
    await store.resume_webhook(webhook, catches_up=False)
    [last] = await ended(store, clock)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == [first, last]
    [dead] = await store.deliveries(webhook, state=DeliveryState.DEAD)
    assert (dead.job, dead.next_at, "given up" in (dead.problem or "")) == (first, None, True)


async def test_resuming_what_is_not_paused_changes_nothing(store: Store, clock: Clock) -> None:
    webhook = await subscribed(store)
    [job] = await ended(store, clock)
    await fanned_out(store)
    before = await webhook_of(store, webhook)
    assert await store.resume_webhook(webhook, catches_up=False) == before
    assert await store.resume_webhook(webhook, catches_up=True) == before
    assert [(one.job, one.state) for one in await store.deliveries(webhook)] == [(job, DeliveryState.WAITING)]


async def test_everything_since_a_moment_is_sent_again(store: Store, clock: Clock) -> None:
    """S1.73: under the same id, with all its tries before it; what was before stays as it is."""
    webhook = await subscribed(store)
    jobs = await ended(store, clock, 5)
    await fanned_out(store)
    assert await store.settle_deliveries("relay", [tried(one) for one in await due(store)]) == []
    before = {one.job: one for one in await store.deliveries(webhook)}
    since = clock.now - 2 * HOUR
    assert await store.redeliver_since(webhook, since) == await webhook_of(store, webhook)
    await fanned_out(store)
    again = {one.job: one for one in await store.deliveries(webhook)}
    assert {job: one.message for job, one in again.items()} == {
        job: one.message for job, one in before.items()
    }
    assert [again[job].state for job in jobs] == ["delivered"] * 3 + ["waiting"] * 2
    assert [again[job].tries for job in jobs] == [1, 1, 1, 0, 0]


async def test_what_was_never_fanned_out_is_added(store: Store, clock: Clock) -> None:
    """S1.17: events from before the webhook was made, as far as they are kept."""
    jobs = await ended(store, clock, 3)
    webhook = await subscribed(store)
    await store.redeliver_since(webhook, clock.now - 2 * HOUR)
    jobs += await ended(store, clock)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == jobs[1:]


async def test_a_second_request_widens_the_first(store: Store, clock: Clock, backend: Backend) -> None:
    """One webhook catches up with one cursor; nothing that either asked for is left out."""
    jobs = await ended(store, clock, 6)
    webhook = await subscribed(store)
    await store.redeliver_since(webhook, clock.now - 2 * HOUR)
    await store.redeliver_since(webhook, clock.now - 4 * HOUR)
    await store.redeliver_since(webhook, clock.now - 3 * HOUR)
    assert await count(backend, "tenure.cursor") == 2
    await fanned_out(store, limit=2)
    assert await jobs_told(store, webhook) == jobs[2:]


async def test_a_request_while_one_is_under_way_begins_again(store: Store, clock: Clock) -> None:
    jobs = await ended(store, clock, 4)
    webhook = await subscribed(store, since=clock.now - 4 * HOUR)
    own = next(one for one in [await taken(store), await taken(store)] if one.webhook is not None)
    await store.redeliver_since(webhook, clock.now - 4 * HOUR)
    assert not (await move(store, own))[0]
    await fanned_out(store)
    assert await jobs_told(store, webhook) == jobs


async def test_a_pause_while_it_catches_up_brings_nothing_from_before(store: Store, clock: Clock) -> None:
    """S1.73: what is older than asked for is not told, though the beginning is looked for an hour early."""
    jobs = await ended(store, clock, 4, HOUR / 4)
    webhook = await subscribed(store, since=clock.now - HOUR / 2)
    await store.pause_webhook(webhook)
    jobs += await ended(store, clock, 2, HOUR / 4)
    await fanned_out(store)
    await store.resume_webhook(webhook, catches_up=True)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == jobs[2:]


async def test_a_webhook_that_is_paused_catches_up_later(store: Store, clock: Clock) -> None:
    """S1.73: its cursor rests, and what it passed while it was paused is in it as well."""
    webhook = await subscribed(store)
    jobs = await ended(store, clock, 3)
    await store.pause_webhook(webhook)
    jobs += await ended(store, clock)
    await fanned_out(store)
    await store.redeliver_since(webhook, clock.now - HOUR)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == []
    await store.resume_webhook(webhook, catches_up=True)
    await fanned_out(store)
    assert await jobs_told(store, webhook) == jobs


async def test_nothing_is_caught_up_with_while_much_is_waiting(store: Store, clock: Clock) -> None:
    """S1.17: a receiver sets its own pace; catching up does not fill the store."""
    await ended(store, clock)
    webhook = await subscribed(store, since=clock.now - 2 * HOUR)
    main = next(one for one in [await taken(store), await taken(store)] if one.webhook is None)
    now = clock.now
    crowd = [by_hand(webhook, f"msg_{n}", at=now) for n in range(5001)]
    assert await store.fan_out(main, main.position, crowd)
    names = set()
    for _ in range(3):
        await clock.advance(seconds(60))
        names.add((await taken(store)).name)
    assert names == {main.name}
    [one] = await due(store, limit=1)
    await store.settle_deliveries("relay", [tried(one)])
    await clock.advance(seconds(60))
    assert {(await taken(store)).webhook, (await taken(store)).webhook} == {None, webhook}


async def test_two_that_catch_up_take_turns(store: Store, clock: Clock) -> None:
    """S1.17: none waits for the others to be through."""
    await ended(store, clock, 3)
    webhooks = [await subscribed(store, since=clock.now - 3 * HOUR) for _ in range(2)]
    turns = []
    for _ in range(6):
        await clock.advance(seconds(61))
        turns.append((await taken(store)).webhook)
    assert set(turns[:3]) == set(turns[3:]) == {None, *webhooks}
