"""What upkeep removes of schedules, and what it must keep; and which schedules no code has any more."""

from tenure.core.model.job import NewJob
from tenure.core.reports.operations import WorkerInfo
from tenure.core.reports.retention import Retention
from tenure.core.schedule.schedule import Overlap, ScheduleName, Source
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.contract.test_fire import due, firing
from tests.storage.contract.test_schedules import NIGHTLY, added, asked
from tests.storage.verbs import MAIL as LINE
from tests.storage.verbs import claim, seconds, settle, succeeded

YEAR = seconds(365 * 86_400)


async def test_a_tick_whose_job_has_not_ended_is_kept_where_the_schedule_asks_about_it(
    store: Store, clock: Clock
) -> None:
    """S1.66: else a run of more than 90 days would be overlapped by the next one."""
    schedule = await due(store, clock)
    await store.fire([firing(schedule, tracks_jobs=True)])
    await clock.advance(seconds(91 * 86_400))
    await store.tidy()
    assert len(await store.ticks(NIGHTLY)) == 1
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    await store.tidy()
    assert await store.ticks(NIGHTLY) == []


async def test_the_limit_of_a_schedule_that_is_gone_goes_with_its_last_job(
    store: Store, clock: Clock, backend: Backend
) -> None:
    """A limit and a line for each schedule that ever was would slow down every claim."""
    new = asked(overlap=Overlap.QUEUE)
    await store.add_schedule(new, next_at=None)
    limit = new.limit
    assert limit is not None
    job = NewJob(definition="mail", limits=(limit,))
    await store.trigger_schedule(NIGHTLY, job, revision=1, is_open=True)
    [owned] = await claim(store)
    await settle(store, [succeeded(owned)])
    await store.delete_schedule(NIGHTLY)
    await store.tidy()
    assert await _limits(backend) == 1, "its job is there still, and may be replayed"
    await clock.advance(YEAR)
    assert (await store.prune(Retention())).jobs == 1
    await store.tidy()
    assert await _limits(backend) == 0
    with_limits = "CAST(limits AS text) NOT IN ('{}', '[]')"
    lines = await backend.sql(f"SELECT count(*) FROM tenure.line WHERE {with_limits}")
    assert lines == [(0,)]

    # This process remembers the line; the schedule is made anew, and fires.
    await store.add_schedule(new, next_at=None)
    assert await store.trigger_schedule(NIGHTLY, job, revision=1, is_open=True) is not None
    assert len(await claim(store)) == 1
    await store.tidy()
    assert await _limits(backend) == 1


async def test_schedules_that_no_live_worker_has_in_its_code_are_named(store: Store, clock: Clock) -> None:
    """As long as any worker lives; those that operators made, and paused ones, never."""
    for name in ("kept", "gone", "paused"):
        await added(store, name, source=Source.CODE)
    await added(store, "by-hand")
    await store.pause_schedule(ScheduleName("default", "paused"))
    old, new = [
        WorkerInfo(id=worker, host="ada", pid=1, version="1", slots=1, lines=(LINE,))
        for worker in ("old", "new")
    ]
    for name in ("kept", "gone"):
        await store.announce_schedule(ScheduleName("default", name), worker="old")
    await store.enlist(old)
    await clock.advance(seconds(40))
    assert await _forgotten(store) == [], "no worker lives: all code may be back soon"
    await store.announce_schedule(ScheduleName("default", "kept"), worker="new")
    await store.enlist(new)
    assert await _forgotten(store) == ["gone"]
    await store.enlist(old)
    assert await _forgotten(store) == []
    await store.dismiss("old")
    await clock.advance(seconds(2 * 86_400))
    await store.enlist(new)
    await store.tidy()
    assert await _forgotten(store) == ["gone"]


async def _forgotten(store: Store) -> list[str]:
    return [one.name.name for one in await store.troubled_schedules() if one.is_forgotten]


async def _limits(backend: Backend) -> int:
    [(count,)] = await backend.sql("SELECT count(*) FROM tenure.limited WHERE name = 'system.schedule'")
    return int(count)
