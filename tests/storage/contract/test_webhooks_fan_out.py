"""The cursor of webhooks: which events it finds, who moves it, and what it leaves behind."""

from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from tenure.core.errors import InvalidInput, PositionGone
from tenure.core.model.states import State
from tenure.core.reports.reading import START, FeedEntry, Position
from tenure.core.webhooks.delivery import DeliveryState
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import (
    claim,
    count,
    enqueue_one,
    job_in,
    note,
    one_in_each_state,
    seconds,
    settle,
    succeeded,
    trail,
)
from tests.storage.webhook_verbs import (
    by_hand,
    fanned_out,
    move,
    subscribed,
    taken,
    told,
    wanted,
    webhook_of,
)

ENDS = frozenset({"succeeded", "failed", "cancelled", "buried"})


async def scanned(store: Store, *types: str, limit: int = 1000, **terms: Any) -> list[FeedEntry]:
    """All events of these types, however many calls it takes."""
    position, entries, is_end = START, list[FeedEntry](), False
    while not is_end:
        part = await store.scan(position, types=frozenset(types), limit=limit, **terms)
        assert part.position > position or part.is_end
        assert all(position < event.entry.position <= part.position for event in part.events)
        entries += [event.entry for event in part.events]
        position, is_end = part.position, part.is_end
    return entries


@pytest.mark.parametrize("limit", [1, 3, 1000])
async def test_a_scan_finds_in_the_feed_what_is_of_a_type(store: Store, limit: int) -> None:
    """S1.17: every type, in the feed's order, whatever part of it is read at a time."""
    await one_in_each_state(store)
    feed = await store.feed()
    types = {entry.event.type for entry in feed}
    assert {"created", "scheduled", "queued", "started", *ENDS} <= types
    for kind in types:
        of_type = [entry for entry in feed if entry.event.type == kind]
        assert await scanned(store, kind, limit=limit) == of_type
    assert await scanned(store, *ENDS, limit=limit) == [one for one in feed if one.event.type in ENDS]
    assert await scanned(store, *types, limit=limit) == feed


async def test_a_scan_is_narrowed_by_definition_and_namespace(store: Store) -> None:
    ours = await job_in(store, State.CANCELLED, namespace="acme")
    await job_in(store, State.CANCELLED)
    failed = await job_in(store, State.FAILED, namespace="acme")
    of_acme = await scanned(store, *ENDS, namespaces=frozenset({"acme"}))
    assert [entry.event.job for entry in of_acme] == [ours, failed]
    found = await scanned(store, *ENDS, definitions=frozenset({"failed"}), namespaces=frozenset({"acme"}))
    assert [entry.event.job for entry in found] == [failed]


async def test_a_scan_knows_tags_and_a_handlers_own_events(store: Store) -> None:
    job = await enqueue_one(store, tags=("vip", "eu"))
    [owned] = await claim(store)
    await store.record("a", [trail(owned, note("page.sent"))])
    found = await store.scan(START, types=frozenset({"custom:page.sent"}))
    assert [(event.entry.event.job, event.tags) for event in found.events] == [(job, ("vip", "eu"))]


async def test_a_scan_that_wants_nothing_is_at_the_end_at_once(store: Store) -> None:
    """S1.17: a store full of what nobody asked for holds up nothing."""
    await one_in_each_state(store)
    for types in (frozenset[str](), frozenset({"orphaned"})):
        found = await store.scan(START, types=types)
        assert (found.events, found.is_end) == ([], True)
        assert found.position >= (await store.feed())[-1].position
        await job_in(store, State.CANCELLED)
        [event] = (await store.scan(found.position, types=ENDS)).events
        assert event.entry.event.type == "cancelled"


async def test_a_scan_stops_where_it_is_to_end(store: Store) -> None:
    jobs = [await job_in(store, State.CANCELLED) for _ in range(3)]
    middle = [entry.position for entry in await store.feed() if entry.event.job == jobs[1]][-1]
    found = await store.scan(START, types=ENDS, until=middle)
    assert [event.entry.event.job for event in found.events] == jobs[:2]
    assert (found.position, found.is_end) == (middle, True)


async def test_a_position_that_the_store_never_gave_is_refused(store: Store) -> None:
    with pytest.raises(PositionGone):
        await store.scan(Position.behind(2**60), types=ENDS)


async def test_a_webhook_gets_what_happens_after_it_was_made(store: Store) -> None:
    """S1.17: all of it, once, and nothing from before."""
    await job_in(store, State.SUCCEEDED)
    webhook = await subscribed(store, "onEnd")
    jobs = [await job_in(store, state) for state in (State.SUCCEEDED, State.FAILED)]
    await fanned_out(store, limit=1)
    await fanned_out(store)
    assert await told(store, webhook) == list(zip(jobs, ["succeeded", "failed"], strict=True))
    [one, _] = await store.deliveries(webhook)
    assert (one.state, one.tries, one.next_at) == (DeliveryState.WAITING, 0, await store.now())


async def test_a_second_webhook_does_not_get_what_the_first_is_still_to_get(store: Store) -> None:
    first = await subscribed(store, "onEnd")
    early = await job_in(store, State.CANCELLED)
    second = await subscribed(store, "onEnd")
    late = await job_in(store, State.CANCELLED)
    await fanned_out(store)
    assert [job for job, _ in await told(store, first)] == [early, late]
    assert [job for job, _ in await told(store, second)] == [late]


@pytest.mark.parametrize("change", ["add", "change", "pause", "resume", "delete", "since"])
async def test_a_cursor_does_not_pass_a_change_of_the_webhooks(store: Store, change: str) -> None:
    """S1.17: what was read of webhooks before does not decide what becomes of events after."""
    webhook = await subscribed(store)
    other = await subscribed(store)
    if change == "resume":
        await store.pause_webhook(webhook)
    cursor = await taken(store)
    match change:
        case "add":
            await subscribed(store)
        case "change":
            read = await webhook_of(store, webhook)
            await store.change_webhook(read, replace(read.asked, events=("started",)))
        case "pause":
            await store.pause_webhook(webhook)
        case "resume":
            await store.resume_webhook(webhook, catches_up=True)
        case "delete":
            await store.delete_webhook(other)
        case "since":
            await store.redeliver_since(webhook, await store.now())
    new = by_hand(webhook, at=await store.now())
    assert not await store.fan_out(cursor, Position.behind(cursor.position.mark + 1), [new])
    assert await store.delivery(webhook, new.message) is None
    [main] = [one for one in [await taken(store), await taken(store)] if one.webhook is None][:1]
    assert main.position == cursor.position
    assert await store.fan_out(main, main.position, [new])


async def test_of_two_that_move_a_cursor_one_does(store: Store, other: Store) -> None:
    """S1.17: no event becomes two deliveries, and none is passed."""
    webhook = await subscribed(store)
    job = await job_in(store, State.CANCELLED)
    cursor = await taken(store)
    assert await other.take_cursor("another", hold_for=seconds(60)) is None
    assert (await move(store, cursor))[0]
    assert not (await move(other, cursor))[0]
    assert await told(store, webhook) == [(job, "cancelled")]


async def test_a_cursor_that_its_holder_left_is_taken_over(store: Store, other: Store, clock: Clock) -> None:
    await subscribed(store)
    cursor = await taken(store)
    await clock.advance(seconds(60))
    assert await other.take_cursor("another", hold_for=seconds(60)) == replace(cursor, now=clock.now)


async def test_with_the_last_webhook_the_cursor_goes(store: Store, backend: Backend) -> None:
    """S1.17: a store without webhooks keeps nothing for any; the next one begins anew."""
    first, second = await subscribed(store), await subscribed(store)
    before = await taken(store)
    assert await store.delete_webhook(first)
    assert (await store.outlook([])).has_cursor
    assert await store.delete_webhook(second)
    assert await count(backend, "tenure.cursor") == 0
    assert not (await store.outlook([])).has_cursor
    await job_in(store, State.CANCELLED)
    webhook = await subscribed(store)
    assert not await store.fan_out(before, before.position, [])
    await fanned_out(store)
    assert await told(store, webhook) == []


async def test_nothing_is_kept_for_a_webhook_that_went_meanwhile(store: Store, backend: Backend) -> None:
    kept, gone = await subscribed(store), wanted().id
    now = await store.now()
    cursor = await taken(store)
    assert await store.fan_out(cursor, cursor.position, [by_hand(kept, at=now), by_hand(gone, at=now)])
    assert await count(backend, "tenure.delivery") == 1


async def test_more_than_a_call_takes_is_refused(store: Store) -> None:
    webhook, now = await subscribed(store), await store.now()
    cursor = await taken(store)
    with pytest.raises(InvalidInput, match="10,001"):
        await store.fan_out(cursor, cursor.position, [by_hand(webhook, at=now)] * 10_001)


async def test_a_fan_out_is_as_long_as_the_feed(store: Store, clock: Clock) -> None:
    """S1.73: every event of a history with retries, lost leases and cancels, under one id each."""
    webhook = await subscribed(store, "onStart", "onEnd", "queued", "retrying")
    await one_in_each_state(store)
    await clock.advance(seconds(120))
    await store.promote(100)
    await store.reap(100)
    owned = await claim(store, limit=10)
    await settle(store, [succeeded(one) for one in owned])
    types = (await webhook_of(store, webhook)).asked.types
    await fanned_out(store, limit=2)
    expected = {
        (entry.event.job, entry.event.type, entry.event.n)
        for entry in await store.feed()
        if entry.event.type in types
    }
    listed = await store.deliveries(webhook, limit=200)
    assert {(one.job, one.type, one.n) for one in listed} == expected
    assert len(listed) == len(expected) > 10
    assert len({one.message for one in listed}) == len(listed)
    assert all(isinstance(one.job, UUID) for one in listed)
