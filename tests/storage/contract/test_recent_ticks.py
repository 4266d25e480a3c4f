"""`recent_ticks`: the last ticks of several schedules, in one look."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.schedule.schedule import DueTick, ScheduledJob, ScheduleName, TickOutcome
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.contract.test_fire import MINUTE, due, fired, firing, reread
from tests.storage.contract.test_schedules import NIGHTLY, added
from tests.storage.verbs import claim, seconds, settle, succeeded

OTHER = ScheduleName("default", "other")
BY_HAND = NewJob(definition="mail")


async def test_the_last_ticks_of_each_come_newest_first_with_the_times_of_their_jobs(
    store: Store, clock: Clock
) -> None:
    schedule = await due(store, clock)
    assert schedule.next_at is not None
    begin = schedule.next_at - 3 * MINUTE
    ticks = [DueTick(at=begin, outcome=TickOutcome.MISSED, count=2, until=begin + MINUTE)]
    ticks += [DueTick(at=begin + 2 * MINUTE, outcome=TickOutcome.OVERLAPPED), fired(schedule.next_at)]
    await store.fire([firing(schedule, *ticks)])
    owned = await claim(store)
    began = await store.now()
    await clock.advance(seconds(4))
    await settle(store, [succeeded(one) for one in owned])
    await added(store, "other", cron="* * * * *", job=ScheduledJob(definition="mail"))
    await added(store, "never", cron="* * * * *", job=ScheduledJob(definition="mail"))
    await store.trigger_schedule(OTHER, BY_HAND, revision=1, is_open=False)

    asked = [NIGHTLY, OTHER, ScheduleName("default", "never"), ScheduleName("acme", "nightly")]
    found = await store.recent_ticks(asked, limit=2)
    assert set(found) == {NIGHTLY, OTHER}
    newest, skipped = found[NIGHTLY]
    assert (newest.tick.at, newest.state) == (schedule.next_at, State.SUCCEEDED)
    assert (newest.started_at, newest.took, newest.late) == (began, seconds(4), began - schedule.next_at)
    assert (skipped.tick.outcome, skipped.state, skipped.took) == (TickOutcome.OVERLAPPED, None, None)
    assert [one.tick.outcome for one in found[OTHER]] == [TickOutcome.BY_HAND]
    assert found[NIGHTLY] == (await store.ticks(NIGHTLY))[:2]
    assert len((await store.recent_ticks([NIGHTLY]))[NIGHTLY]) == 3
    assert await store.recent_ticks([]) == {}


async def test_a_tick_and_a_run_by_hand_of_one_moment_are_two_ticks(store: Store, clock: Clock) -> None:
    schedule = await due(store, clock)
    await store.fire([firing(schedule, fired(await store.now()))])
    revision = (await reread(store)).revision
    await store.trigger_schedule(NIGHTLY, BY_HAND, revision=revision, is_open=False)
    [one] = (await store.recent_ticks([NIGHTLY], limit=1))[NIGHTLY]
    both = (await store.recent_ticks([NIGHTLY], limit=2))[NIGHTLY]
    assert one == both[0]
    assert [each.tick.outcome for each in both] == [TickOutcome.BY_HAND, TickOutcome.FIRED]


async def test_no_more_than_a_page_is_asked_for(store: Store) -> None:
    with pytest.raises(InvalidInput):
        await store.recent_ticks([NIGHTLY] * 201)
    with pytest.raises(InvalidInput):
        await store.recent_ticks([NIGHTLY], limit=201)
