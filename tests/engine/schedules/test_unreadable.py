"""Schedules that a process cannot read: a newer version's, or damaged ones. It leaves them to others."""

import pytest

from tenure.core.schedule.schedule import Schedule, ScheduleName, Source, UnreadableSchedule
from tenure.core.signals import ScheduleLeftAlone
from tenure.engine.schedules.schedules import ScheduleUnreadable
from tenure.storage.contract.store import Store
from tests.engine.schedules.test_firer import NAME, Node, asked, node
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.verbs import seconds

__all__ = ["node"]

BAD = ScheduleName("default", "bad")
NEWER = """UPDATE tenure.schedule SET spec = replace(spec, '"format":1', '"format":2') WHERE name = 'bad'"""
OLDER = """UPDATE tenure.schedule SET spec = replace(spec, '"format":2', '"format":1') WHERE name = 'bad'"""
EDITED = f"{OLDER[:27]} revision = revision + 1, {OLDER[27:]}"


async def test_what_a_process_cannot_read_it_leaves_to_those_that_can(
    node: Node, clock: Clock, backend: Backend
) -> None:
    """S1.65: no tick is noted or taken, others fire, and the duty sleeps until something else is due."""
    bad = await node.schedules.create(asked(name="bad"))
    await node.schedules.create(asked())
    await backend.sql(NEWER)
    await clock.advance(seconds(60))
    await node.fire()
    assert await node.outcomes() == ["fired"]
    left = await node.store.schedule(BAD)
    assert isinstance(left, UnreadableSchedule)
    assert (left.next_at, left.revision, await node.ticks(BAD)) == (bad.next_at, 1, [])
    next_tick = (await node.store.outlook([])).next_tick
    assert next_tick is not None
    assert next_tick > await node.store.now(), "an idle process does not look at it again and again"
    told = [one for one in node.signals if isinstance(one, ScheduleLeftAlone)]
    assert [one.schedule for one in told] == [BAD]
    assert "newer version" in told[0].problem

    await backend.sql(OLDER)
    other = Node(backend.store())
    await other.store.open()
    try:
        await other.fire()
    finally:
        await other.store.close()
    assert await node.outcomes(BAD) == ["fired"], "whichever can read it fires it"


async def test_more_of_them_than_one_look_reads_keep_none_that_can_fire(
    node: Node, clock: Clock, backend: Backend
) -> None:
    for n in range(101):
        await node.store.add_schedule(asked(name=f"bad{n}"), next_at=await node.store.now())
    await node.schedules.create(asked())
    await backend.sql("UPDATE tenure.schedule SET spec = '{}' WHERE name LIKE 'bad%'")
    await clock.advance(seconds(60))
    for _ in range(3):
        await node.firer.fire_due()
    assert await node.outcomes() == ["fired"]


async def test_an_edit_by_a_version_that_can_read_it_brings_it_back(
    node: Node, clock: Clock, backend: Backend
) -> None:
    await node.schedules.create(asked(name="bad"))
    await backend.sql(NEWER)
    await clock.advance(seconds(60))
    await node.fire()
    await backend.sql(EDITED)
    await node.fire()
    assert await node.outcomes(BAD) == ["fired"]


async def test_another_one_of_its_name_fires(node: Node, clock: Clock, backend: Backend) -> None:
    """One that is deleted and made again begins with the same revision."""
    await node.schedules.create(asked(name="bad"))
    await backend.sql(NEWER)
    await clock.advance(seconds(60))
    await node.fire()
    await node.schedules.delete(BAD)
    await node.schedules.create(asked(name="bad"))
    await clock.advance(seconds(60))
    assert (await node.store.outlook([])).next_tick == await node.store.now()
    await node.fire()
    assert await node.outcomes(BAD) == ["fired"]


async def test_it_is_listed_paused_and_deleted_and_stops_no_worker_that_starts(
    node: Node, store: Store, backend: Backend
) -> None:
    declared = asked(name="bad", source=Source.CODE)
    assert await node.schedules.announce(declared, by="w1") is None
    await node.schedules.create(asked())
    await backend.sql(NEWER)
    listed = await node.schedules.page()
    assert [(one.name, isinstance(one, Schedule)) for one in listed] == [(BAD, False), (NAME, True)]
    problem = await node.schedules.announce(declared, by="w2")
    assert problem is not None
    assert "newer version" in problem
    for act in (
        node.schedules.get(BAD),
        node.schedules.trigger(BAD),
        node.schedules.resume(BAD),
        node.schedules.edit(declared, revision=1),
        node.schedules.coming(BAD, 1),
    ):
        with pytest.raises(ScheduleUnreadable, match="newer version"):
            await act
    paused = await node.schedules.pause(BAD)
    assert paused.paused_at is not None
    await node.schedules.delete(BAD)
    assert await store.schedule(BAD) is None
