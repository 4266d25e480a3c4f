"""The pace of jobs on record: a row a minute, whose totals pruning does not lower, and none too old.

The first minute of an hour has the figures of the hour before, and stays for eight days.
"""

import asyncio
from datetime import timedelta

from tenure.core.model.states import State
from tenure.core.reports.pace import (
    ALL,
    HOURS_KEPT,
    PACE_KEPT,
    DefinitionPace,
    DetailedPace,
    Pace,
    PaceDetail,
    Paces,
)
from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tests.storage.clock import START, Clock
from tests.storage.verbs import EVERY_JOB, job_in, seconds

MINUTE = timedelta(minutes=1)
NOTHING = timedelta(0)


async def test_a_minute_is_noted_once_with_all_that_has_ended_until_then(store: Store, clock: Clock) -> None:
    assert await store.paces(PACE_KEPT) == Paces(START, {}, [])
    for state in (State.SUCCEEDED, State.SUCCEEDED, State.FAILED, State.RUNNING):
        await job_in(store, state)
    assert await store.note_pace(waits={3: 1, 40: 2}, runs={})
    await job_in(store, State.CANCELLED)
    assert not await store.note_pace(waits={}, runs={})
    minute = START.replace(second=0, microsecond=0)
    until_then = {State.SUCCEEDED: 2, State.FAILED: 1}
    assert await store.paces(PACE_KEPT) == Paces(
        START, {**until_then, State.CANCELLED: 1}, [Pace(minute, until_then, {3: 1, 40: 2}, {})]
    )
    await clock.advance(MINUTE)
    assert await store.note_pace(waits={}, runs={})
    noted = (await store.paces(PACE_KEPT)).minutes
    assert [(one.minute, sum(one.ended.values())) for one in noted] == [(minute, 3), (minute + MINUTE, 4)]


async def test_pruning_and_tidying_take_nothing_back(store: Store, clock: Clock) -> None:
    for _ in range(2):
        await job_in(store, State.FAILED)
        await job_in(store, State.SUCCEEDED)
        await clock.advance(seconds(1))
        retention = Retention(succeeded=NOTHING, others=NOTHING, keyed=NOTHING)
        assert (await store.prune(retention)).jobs == 2
        await store.tidy()
    assert (await store.paces(PACE_KEPT)).ended == {State.SUCCEEDED: 2, State.FAILED: 2}
    assert {state: count.n for state, count in (await store.counts(EVERY_JOB)).items() if count.n} == {}


async def test_what_is_too_old_for_any_chart_goes(store: Store, clock: Clock) -> None:
    await store.note_pace(waits={}, runs={})
    await clock.advance(PACE_KEPT - MINUTE)
    await store.note_pace(waits={}, runs={})
    assert len((await store.paces(2 * PACE_KEPT)).minutes) == 2
    assert len((await store.paces(MINUTE)).minutes) == 1
    await clock.advance(2 * MINUTE)
    await store.note_pace(waits={}, runs={})
    assert len((await store.paces(2 * PACE_KEPT)).minutes) == 2


async def test_of_several_that_come_at_once_one_notes_the_minute(store: Store, other: Store) -> None:
    noting = [each.note_pace(waits={}, runs={}) for each in (store, other, store, other)]
    assert sorted(await asyncio.gather(*noting)) == [False, False, False, True]
    assert len((await store.paces(PACE_KEPT)).minutes) == 1


def detail(jobs: int) -> PaceDetail:
    figures = DefinitionPace({State.SUCCEEDED: jobs}, {3: jobs}, {40: jobs})
    return PaceDetail(waiting=2, running=1, of={ALL: figures, "mail": figures}, is_whole=False)


async def test_a_minute_and_an_hour_keep_what_definitions_did(store: Store, clock: Clock) -> None:
    await store.note_pace(waits={}, runs={})
    await clock.advance(MINUTE)
    await store.note_pace(waits={}, runs={}, detail=detail(7), hour=detail(90))
    minute = (START + MINUTE).replace(second=0, microsecond=0)
    assert await store.pace_details(PACE_KEPT, by_hour=False) == [DetailedPace(minute, {}, detail(7))]
    assert await store.pace_details(PACE_KEPT, by_hour=True) == [DetailedPace(minute, {}, detail(90))]
    assert await store.pace_details(NOTHING, by_hour=True) == []


async def test_hours_stay_for_as_long_as_a_week_is_drawn(store: Store, clock: Clock) -> None:
    await store.note_pace(waits={}, runs={}, hour=detail(1))
    await clock.advance(MINUTE)
    await store.note_pace(waits={}, runs={}, detail=detail(1))
    for kept, hours in ((PACE_KEPT + MINUTE, 1), (HOURS_KEPT - PACE_KEPT - 3 * MINUTE, 1), (3 * MINUTE, 0)):
        await clock.advance(kept)
        await store.note_pace(waits={}, runs={})
        assert len(await store.pace_details(2 * HOURS_KEPT, by_hour=True)) == hours
        assert await store.pace_details(2 * HOURS_KEPT, by_hour=False) == []
