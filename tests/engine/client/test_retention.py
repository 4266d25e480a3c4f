"""Walks by what is set: what an operator changes while one is under way counts from the next step on."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tenure.assemble.client import client_on
from tenure.core.errors import InvalidInput, UnknownDefinition
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.reports.retention import FOR_ALL, PARTS, Retention
from tenure.engine.client import bulk, retention_walk
from tenure.engine.client.retention_walk import RetentionWalk
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, enqueue_one, line, seconds, settle, trail, unrecoverable
from tests.surfaces.http.http_server import register
from tests.surfaces.store_behind import MAIL

DAY = timedelta(days=1)
NONE = timedelta(0)


async def failed(store: Store, number: int, **asked: Any) -> list[UUID]:
    """Dead letters, with a log line each."""
    jobs = [await enqueue_one(store, **asked) for _ in range(number)]
    owned = await claim(store, limit=number)
    await store.record("a", [trail(one, line(1)) for one in owned])
    await settle(store, [unrecoverable(one) for one in owned])
    return jobs


async def left(store: Store, jobs: list[UUID]) -> list[bool]:
    return [await store.get(job) is not None for job in jobs]


async def test_what_is_set_during_a_walk_counts_from_its_next_step_on(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has just asked to keep jobs longer must not lose them to a walk that began earlier."""
    monkeypatch.setattr(retention_walk, "LARGEST_STEP", 2)
    jobs = await failed(store, 6)
    await clock.advance(31 * DAY)
    walk = RetentionWalk(store)
    assert not await walk.step(by_age=False)
    await store.set_retention("mail", {"others": 90 * DAY})
    await walk.walk()
    assert await left(store, jobs) == [False] * 2 + [True] * 4
    await store.set_retention("mail", {"others": DAY})
    assert (await RetentionWalk(store).walk()).jobs == 4


async def test_a_walk_takes_log_lines_too_and_tells_what_went(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_walk, "LARGEST_STEP", 2)
    jobs = await failed(store, 5)
    await store.set_retention("mail", {"logs": DAY})
    await clock.advance(2 * DAY)
    dry = await RetentionWalk(store, dry=True).walk()
    assert (dry.counts, dry.log_lines) == ({}, 5)
    assert await RetentionWalk(store).walk() == dry
    assert [await store.logs(job) for job in jobs] == [[]] * 5
    await failed(store, 1)
    await clock.advance(31 * DAY)
    dry = await RetentionWalk(store, dry=True).walk()
    assert (dry.counts, dry.log_lines) == ({("mail", State.FAILED): 6}, 1)
    assert await RetentionWalk(store).walk() == dry


async def test_what_would_be_set_can_be_tried_before(store: Store, clock: Clock) -> None:
    await register(store, MAIL)
    await failed(store, 3)
    await clock.advance(2 * DAY)
    retention = client_on(store).retention
    before = await retention.get()
    for definition, change, jobs in (
        ("mail", {"others": DAY}, 3),
        ("mail", {"others": 3 * DAY}, 0),
        (FOR_ALL, {"others": DAY}, 3),
        (FOR_ALL, {"succeeded": NONE}, 0),
    ):
        policy = await retention.proposed(definition, change)
        assert (await retention.walk(definition, dry=True, policy=policy)).jobs == jobs
    assert await retention.get() == before
    assert (await retention.walk()).jobs == 0


async def test_a_definition_is_set_and_set_back_if_there_is_one(store: Store) -> None:
    await register(store, MAIL)
    retention = client_on(store).retention
    set_ = await retention.set("mail", {"succeeded": NONE}, by="ann")
    assert set_.of("mail").succeeded == NONE
    assert (await retention.reset("mail", PARTS, by="ann")).rules == ()
    await retention.set(FOR_ALL, dict.fromkeys(PARTS, DAY), by="ann")
    assert (await retention.reset(FOR_ALL, ["logs", "others"], by="ann")).for_all == Retention(
        succeeded=DAY, keyed=DAY
    )
    for call in (retention.set("nail", {"succeeded": DAY}, by="ann"), retention.walk("nail")):
        with pytest.raises(UnknownDefinition):
            await call


async def test_dead_letters_are_purged_before_their_time_and_nothing_else(store: Store, clock: Clock) -> None:
    old = await failed(store, 3)
    await clock.advance(DAY)
    cut = await store.now()
    new = await failed(store, 2)
    cancelled = [await enqueue_one(store)]
    await store.cancel(cancelled)
    await clock.advance(seconds(1))
    changes = client_on(store).bulk
    dry = await changes.purge(Filter(), ended_before=cut, dry=True)
    assert (dry.matched, dry.changed, dry.next) == (3, 0, None)
    assert await left(store, old) == [True] * 3
    gone = await changes.purge(Filter(), ended_before=cut)
    assert (gone.matched, gone.changed, gone.next) == (3, 3, None)
    assert await left(store, [*old, *new, *cancelled]) == [False] * 3 + [True] * 3
    with pytest.raises(InvalidInput, match="states"):
        await changes.purge(Filter(states=frozenset({State.CANCELLED})), ended_before=cut)


async def test_a_purge_leaves_keys_that_still_count(store: Store, clock: Clock) -> None:
    """S1.36: a repeated request would make the job anew; who wants that says so."""
    [plain], [keyed] = await failed(store, 1), await failed(store, 1, key="mine")
    await clock.advance(seconds(1))
    now, changes = await store.now(), client_on(store).bulk
    assert (await changes.purge(Filter(), ended_before=now)).changed == 1
    assert await left(store, [plain, keyed]) == [False, True]
    await store.set_retention("mail", {"keyed": NONE})
    assert (await changes.purge(Filter(), ended_before=now, dry=True)).matched == 1
    await store.set_retention("mail", {"keyed": 90 * DAY})
    assert (await changes.purge(Filter(), ended_before=now)).changed == 0
    assert (await changes.purge(Filter(), ended_before=now, keyed=True)).changed == 1
    assert await enqueue_one(store, key="mine") != keyed


async def test_a_purge_goes_on_where_it_ended(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "LARGEST_PAGE", 2)
    monkeypatch.setattr(bulk, "MOST_PAGES", 2)
    jobs = await failed(store, 7)
    await clock.advance(seconds(1))
    changes, after = client_on(store).bulk, None
    rounds: list[int] = []
    while not rounds or after is not None:
        swept = await changes.purge(Filter(), ended_before=await store.now(), after=after)
        after = swept.next
        rounds.append(swept.changed)
    assert (sum(rounds), max(rounds)) == (7, 4)
    assert await left(store, jobs) == [False] * 7
