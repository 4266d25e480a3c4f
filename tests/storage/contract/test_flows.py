"""What passes through each queue: by the last minute, or as far as the last jobs and events tell."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.lease import Line
from tenure.core.reports.flow import Flow, Flows
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import claim, enqueue_one, note, recoverable, seconds, settle, succeeded, trail

MINUTE = seconds(60)


async def test_where_nothing_was_asked_for_nothing_passes(store: Store) -> None:
    flows = await store.flows()
    assert flows == Flows(START, START - MINUTE, START - MINUTE, {})
    assert flows.a_minute("default") == (0, 0, 0)


async def test_each_queue_has_what_was_put_in_began_and_ended(store: Store, clock: Clock) -> None:
    """S3.66: every attempt counts as a beginning, and a note as nothing."""
    for queue in ("default", "slow", "slow"):
        await enqueue_one(store, queue=queue)
    await enqueue_one(store, delay=seconds(600))
    [first] = await claim(store)
    await store.record("a", [trail(first, note())])
    await settle(store, [recoverable(first, after=seconds(1))])
    await clock.advance(seconds(2))
    await store.promote(10)
    [again] = await claim(store)
    await settle(store, [succeeded(again)])
    await store.cancel([await enqueue_one(store, queue="slow")])
    flows = await store.flows()
    assert flows.by_queue == {"default": Flow(2, 2, 1), "slow": Flow(3, 0, 1)}
    assert flows.a_minute("default") == (2, 2, 1)


async def test_what_is_longer_ago_than_a_minute_counts_no_more(store: Store, clock: Clock) -> None:
    await enqueue_one(store)
    [claimed] = await claim(store, lease_for=seconds(90))
    await clock.advance(seconds(61))
    await settle(store, [succeeded(claimed)])
    assert (await store.flows()).by_queue == {"default": Flow(0, 0, 1)}
    await clock.advance(seconds(61))
    assert (await store.flows()).by_queue == {}


async def test_where_more_came_to_pass_than_is_looked_at_the_pace_is_that_of_the_last(
    store: Store, clock: Clock
) -> None:
    for _ in range(6):
        await enqueue_one(store)
        [claimed] = await claim(store)
        await clock.advance(seconds(5))
        await settle(store, [succeeded(claimed)])
    flows = await store.flows(limit=4)
    assert (flows.enqueued_since, flows.stepped_since) == (START + seconds(10), START + seconds(20))
    # Four jobs in twenty seconds; two attempts, begun and ended, in ten.
    assert flows.by_queue == {"default": Flow(4, 2, 2)}
    assert flows.a_minute("default") == (12, 12, 12)


async def test_many_at_one_moment_are_no_infinite_pace(store: Store) -> None:
    for _ in range(3):
        await enqueue_one(store)
    flows = await store.flows(limit=3)
    assert flows.a_minute("default") == (180, 0, 0)


async def test_jobs_under_limits_and_versions_stand_in_one_queue(store: Store, clock: Clock) -> None:
    for version in (1, 2):
        await enqueue_one(store, version=version)
    claimed = await claim(store, lines=[Line("default", "mail", version) for version in (1, 2)])
    await settle(store, [succeeded(one) for one in claimed])
    assert (await store.flows()).by_queue == {"default": Flow(2, 2, 2)}


async def test_what_was_removed_counts_no_more_and_disturbs_nothing(store: Store, clock: Clock) -> None:
    await store.cancel([await enqueue_one(store)])
    await enqueue_one(store)
    await clock.advance(seconds(10))
    await store.prune(Retention(others=seconds(1)), limit=10)
    assert (await store.flows()).by_queue == {"default": Flow(1, 0, 0)}


async def test_how_far_to_look_is_bounded(store: Store) -> None:
    for limit in (0, -1, 10_001):
        with pytest.raises(InvalidInput):
            await store.flows(limit=limit)
