"""Events from Python: what happens to the jobs of an app, from whatever loop or from none."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from tenure import InvalidInput, PositionGone, StoreUnavailable, Tenure
from tenure.core.reports.reading import Position
from tenure.storage.contract.store import Store
from tenure.surfaces.library.records import FeedRecord, feed_record
from tests.storage.verbs import PATIENCE, claim, enqueue_one, fed, settle, succeeded, unrecoverable


async def first(events: AsyncIterator[FeedRecord], number: int) -> list[FeedRecord]:
    """The next so many events."""
    found: list[FeedRecord] = []
    async with asyncio.timeout(PATIENCE), aclosing(events) as closing:  # type: ignore[type-var]
        async for entry in closing:
            found.append(entry)
            if len(found) == number:
                break
    return found


async def finish(store: Store) -> None:
    await settle(store, [succeeded(one) for one in await claim(store)])


async def test_events_are_followed_and_gone_on_with(app: Tenure, store: Store) -> None:
    """S1.72: each has its position, as text too, from which any process can continue."""
    await enqueue_one(store)
    await finish(store)
    whole = await first(app.events(after="0"), 3)
    assert whole == [feed_record(entry) for entry in await fed(store, 3)]
    assert [entry.event.type for entry in whole] == ["queued", "started", "succeeded"]
    assert await first(app.events(after=whole[0].position), 2) == whole[1:]
    assert await first(app.events(after=str(whole[1].position)), 1) == whole[2:]


async def test_a_place_that_a_restore_has_cut_off_is_refused(app: Tenure, store: Store) -> None:
    """Also while another reader follows the feed, whose memory it would lie in."""
    await enqueue_one(store)
    [entry] = await fed(store, 1)
    lost = Position.behind(entry.position.mark + 1000)
    following = asyncio.create_task(first(app.events(after="0"), 2))
    await store.resume_after_restore()
    await enqueue_one(store)
    await following
    for after in (lost, str(lost)):
        with pytest.raises(PositionGone, match="begin anew"):
            await first(app.events(after=after), 1)


async def test_starts_successes_and_failures_are_told_to_who_asks_for_these(
    app: Tenure, store: Store
) -> None:
    """S1.17: a feed of events, for programs that act on them elsewhere."""
    good, bad = await enqueue_one(store), await enqueue_one(store)
    one, two = await claim(store)
    await settle(store, [succeeded(one)])
    await settle(store, [unrecoverable(two)])
    entries = await first(app.events(after="0", types=["started", "succeeded", "failed"]), 4)
    assert [entry.event.job for entry in entries] == [good, bad, good, bad]
    assert [entry.event.type for entry in entries] == ["started", "started", "succeeded", "failed"]


async def test_from_now_on_is_from_when_it_was_begun(app: Tenure, store: Store) -> None:
    await enqueue_one(store)
    await fed(store, 1)
    events = app.events()
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(first(events, 1))
        later: list[Any] = []
        while not reading.done():
            later.append(await enqueue_one(store))
    assert reading.result()[0].event.job in later


async def test_only_what_was_asked_for_comes(app: Tenure, store: Store) -> None:
    """And nothing of other namespaces than the app's."""
    mail = await enqueue_one(store, queue="slow")
    post = await enqueue_one(store, "post")
    await enqueue_one(store, namespace="theirs")
    await store.cancel([mail, post])
    await fed(store, 5)
    for filters, expected in (
        ({"definition": "post"}, [(post, 1), (post, 2)]),
        ({"queue": "slow", "types": ["cancelled"]}, [(mail, 2)]),
        ({}, [(mail, 1), (post, 1), (mail, 2), (post, 2)]),
    ):
        found = await first(app.events(after="0", **filters), len(expected))
        assert sorted((entry.event.job, entry.event.n) for entry in found) == sorted(expected)


@pytest.mark.parametrize(
    "options", [{"after": "yesterday"}, {"types": "queued"}, {"types": ["nonsense"]}, {"queue": "?"}]
)
async def test_what_makes_no_sense_is_refused_at_once(app: Tenure, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        app.events(**options)


async def test_plain_code_follows_too(app: Tenure, store: Store) -> None:
    await enqueue_one(store)
    await finish(store)

    def follow() -> list[FeedRecord]:
        events = app.events_sync(after="0")
        return [next(events) for _ in range(3)]

    assert await asyncio.to_thread(follow) == [feed_record(entry) for entry in await fed(store, 3)]


async def test_closing_the_app_ends_it(app: Tenure, store: Store) -> None:
    await enqueue_one(store)
    events = app.events(after="0")
    await anext(events)
    await app.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await anext(events)
