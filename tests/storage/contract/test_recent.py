"""How jobs ended lately: as far as the last events tell, and no further."""

from datetime import timedelta

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.reading import End, Recent
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import MAIL, claim, enqueue_one, note, recoverable, seconds, settle, succeeded, trail


async def test_where_nothing_has_ended_there_is_nothing(store: Store) -> None:
    assert await store.recent() == Recent(START, None, [])
    await enqueue_one(store)
    await claim(store)
    assert await store.recent() == Recent(START, None, [])


async def test_an_end_tells_how_long_the_last_attempt_waited_and_ran(store: Store, clock: Clock) -> None:
    """S3.66: the first attempt and the backoff are not counted in."""
    await enqueue_one(store)
    await clock.advance(seconds(1))
    [first] = await claim(store)
    await clock.advance(seconds(2))
    await settle(store, [recoverable(first, after=seconds(4))])
    await clock.advance(seconds(10))
    await store.promote(10)
    await clock.advance(seconds(3))
    [second] = await claim(store)
    await store.record("a", [trail(second, note())])
    now = await clock.advance(seconds(5))
    await settle(store, [succeeded(second)])
    assert await store.recent() == Recent(
        now, None, [End(State.SUCCEEDED, now, seconds(3), seconds(5), MAIL.definition)]
    )


async def test_a_job_that_never_ran_has_neither_waited_nor_run(store: Store) -> None:
    for requested in ({}, {"hold": True}, {"delay": seconds(60)}):
        await store.cancel([await enqueue_one(store, **requested)])
    assert (await store.recent()).ends == [End(State.CANCELLED, START, None, None, MAIL.definition)] * 3


async def test_a_job_cancelled_while_it_waits_again_has_not_run_since(store: Store, clock: Clock) -> None:
    job = await enqueue_one(store)
    [owned] = await claim(store)
    await clock.advance(seconds(1))
    await store.hand_back("a", unstarted=[owned.lease], killed=[])
    now = await clock.advance(seconds(1))
    await store.cancel([job])
    assert (await store.recent()).ends == [End(State.CANCELLED, now, None, None, MAIL.definition)]


async def test_the_last_events_tell_since_when_all_is_there(store: Store, clock: Clock) -> None:
    for _ in range(5):
        await clock.advance(seconds(1))
        await store.cancel([await enqueue_one(store)])
    recent = await store.recent(limit=3)
    assert recent.since == START + timedelta(seconds=3)
    assert sorted(end.at for end in recent.ends) == [START + timedelta(seconds=n) for n in (3, 4, 5)]
    assert (await store.recent(limit=6)).since is None


async def test_how_far_to_look_is_bounded(store: Store) -> None:
    for limit in (0, -1, 10_001):
        with pytest.raises(InvalidInput):
            await store.recent(limit=limit)
