"""What is kept for webhooks and for how long: events that were not told yet, and deliveries on record."""

from datetime import timedelta
from uuid import UUID

from tenure.core.model.states import State
from tenure.core.reports.restores import Resumed
from tenure.core.reports.retention import Retention
from tenure.core.webhooks.delivery import DeliveryState
from tenure.core.webhooks.webhook import WebhookFigures
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import count, job_in, seconds
from tests.storage.webhook_verbs import due, fanned_out, subscribed, taken, told, tried, waiting

SHORT = Retention(succeeded=seconds(1), others=seconds(1), keyed=seconds(1), logs=None)
DAY = timedelta(days=1)


async def ended(store: Store, clock: Clock, number: int = 1) -> list[UUID]:
    """Jobs whose time is over by a second's retention."""
    jobs = [await job_in(store, State.SUCCEEDED) for _ in range(number)]
    await clock.advance(seconds(2))
    return jobs


async def test_what_was_not_told_yet_is_not_pruned(store: Store, clock: Clock) -> None:
    """S1.17: with a second's retention every event is still delivered, and then its job goes."""
    await ended(store, clock)
    webhook = await subscribed(store)
    jobs = await ended(store, clock, 3)
    dry = await store.prune(SHORT, dry=True)
    pruned = await store.prune(SHORT)
    assert (dry.jobs, pruned.jobs) == (1, 1)
    await fanned_out(store, limit=2)
    assert await told(store, webhook) == [(job, "succeeded") for job in jobs]
    assert (await store.prune(SHORT)).jobs == 3


async def test_jobs_are_kept_for_a_webhook_that_catches_up(store: Store, clock: Clock) -> None:
    """S1.17: from where it stands on; the main cursor has passed them."""
    jobs = await ended(store, clock, 2)
    webhook = await subscribed(store, since=clock.now - DAY)
    assert (await store.prune(SHORT)).jobs == 0
    await fanned_out(store)
    assert await told(store, webhook) == [(job, "succeeded") for job in jobs]
    assert (await store.prune(SHORT)).jobs == 2


async def test_a_cursor_that_nobody_moves_holds_back_nothing(store: Store, clock: Clock) -> None:
    """S1.17: a store whose relay is gone for a day is cleaned as any other."""
    await subscribed(store)
    before = (await taken(store)).now + timedelta(microseconds=1)
    await clock.advance(DAY - seconds(8))
    await ended(store, clock)
    assert (await store.prune(SHORT)).jobs == 0
    assert await store.unsent_since() is None
    await clock.advance(seconds(7))
    assert await store.unsent_since() == before
    assert (await store.prune(SHORT)).jobs == 1


async def test_a_job_is_held_back_for_a_week_at_most(store: Store, clock: Clock) -> None:
    await subscribed(store)
    await ended(store, clock)
    for _ in range(13):
        await clock.advance(DAY / 2)
        await taken(store)
        assert (await store.prune(SHORT)).jobs == 0
    await clock.advance(DAY / 2)
    await taken(store)
    assert (await store.prune(SHORT)).jobs == 1


async def test_without_webhooks_nothing_is_held_back(store: Store, clock: Clock) -> None:
    webhook = await subscribed(store)
    await ended(store, clock)
    await store.delete_webhook(webhook)
    assert (await store.prune(SHORT)).jobs == 1


async def test_deliveries_are_listed_newest_first_and_in_parts(store: Store, clock: Clock) -> None:
    """S1.79: of all states or of one, with what became of each."""
    webhook = await subscribed(store)
    for _ in range(3):
        await job_in(store, State.CANCELLED)
        await fanned_out(store)
        await clock.advance(seconds(1))
    await waiting(store, webhook, 2)
    everything = await store.deliveries(webhook)
    places = [(one.noted_at, one.message) for one in everything]
    assert len(places) == 5
    assert places == sorted(places, reverse=True)
    first = await store.deliveries(webhook, limit=2)
    last = first[-1]
    rest = await store.deliveries(webhook, before=(last.noted_at, last.message))
    assert [*first, *rest] == everything

    got = await due(store, limit=2)
    await store.settle_deliveries("relay", [tried(got[0]), tried(got[1], DeliveryState.DEAD, problem="gone")])
    for state, number in zip(DeliveryState, (3, 1, 1), strict=True):
        listed = await store.deliveries(webhook, state=state)
        assert [one.state for one in listed] == [state] * number
    assert await store.deliveries(UUID(int=7)) == []
    figures = await store.webhook_figures([webhook])
    assert figures[webhook] == WebhookFigures(
        waiting=3, oldest_waiting=figures[webhook].oldest_waiting, delivered=1, dead=1
    )


async def test_deliveries_that_have_ended_are_kept_for_a_time(
    store: Store, clock: Clock, backend: Backend
) -> None:
    """S0.71: those delivered for a week, those given up for a month, those that wait for ever."""
    webhook = await subscribed(store)
    await waiting(store, webhook, 3)
    done, given_up, _ = await due(store)
    await store.settle_deliveries("relay", [tried(done), tried(given_up, DeliveryState.DEAD)])
    kept = []
    for days in (7, 1, 22, 1):
        await clock.advance(timedelta(days=days))
        await store.tidy()
        kept.append(await count(backend, "tenure.delivery"))
    assert kept == [3, 2, 2, 1]


async def test_what_was_sent_again_is_kept_from_then_on(store: Store, clock: Clock, backend: Backend) -> None:
    webhook = await subscribed(store)
    await waiting(store, webhook, 1)
    for _ in range(2):
        [one] = await due(store)
        await store.settle_deliveries("relay", [tried(one)])
        await clock.advance(timedelta(days=6))
        await store.redeliver(webhook, "msg_0000")
    [one] = await due(store)
    await store.settle_deliveries("relay", [tried(one)])
    await clock.advance(timedelta(days=6))
    await store.tidy()
    assert await count(backend, "tenure.delivery") == 1


async def test_a_restored_store_goes_on_telling(store: Store, clock: Clock) -> None:
    """S1.17: a cursor stands where the feed goes on, though what it has passed is pruned."""
    webhook = await subscribed(store)
    jobs = await ended(store, clock)
    await fanned_out(store)
    assert (await store.prune(SHORT)).jobs == 1
    assert isinstance(await store.resume_after_restore(), Resumed)
    jobs += await ended(store, clock)
    await fanned_out(store)
    assert await told(store, webhook) == [(job, "succeeded") for job in jobs]
