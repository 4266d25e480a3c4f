"""Edits, restarts and deploys between a tick and its firing, and runs by hand: no tick is lost or doubled."""

from msgspec.structs import replace

from tenure.core.model.spec import Spec
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import Overlap, Source, TickOutcome
from tenure.engine.client.registration import save_definitions
from tests.engine.schedules.test_firer import NAME, START, Node, asked, node
from tests.storage.clock import Clock
from tests.storage.verbs import claim, seconds

__all__ = ["node"]


async def test_a_restart_between_tick_and_firing_loses_no_tick(node: Node, clock: Clock) -> None:
    """S1.65: a worker starts again after each of a hundred ticks, before it is fired."""
    declared = asked(source=Source.CODE)
    for n in range(100):
        assert await node.schedules.announce(declared, by=f"w{n}") is None
        await clock.advance(seconds(60))
        assert await node.schedules.announce(declared, by=f"w{n}") is None
        await node.fire()
    known = await node.schedules.get(NAME)
    assert known.revision == 1, "what is on record already is not written again"
    ticks = await node.store.ticks(NAME, limit=200)
    assert [one.tick.outcome for one in ticks] == [TickOutcome.FIRED] * 100
    assert len({one.tick.at for one in ticks}) == 100


async def test_two_wheels_with_different_rules_take_turns_and_no_due_tick_is_lost(
    node: Node, clock: Clock
) -> None:
    """S1.65: an old and a new version of the code start in turn, each between a tick and its firing."""
    every = {60: asked(60, source=Source.CODE), 90: asked(90, source=Source.CODE)}
    due = []
    for n in range(40):
        await node.schedules.announce(every[60 if n % 2 else 90], by=f"w{n}")
        waits_for = (await node.schedules.get(NAME)).next_at
        assert waits_for is not None
        due.append(waits_for)
        await clock.advance(waits_for - await node.store.now() + seconds(1))
        await node.schedules.announce(every[90 if n % 2 else 60], by=f"x{n}")
        await node.fire()
    ticks = [one.tick for one in await node.store.ticks(NAME, limit=200)]
    assert {tick.outcome for tick in ticks} == {TickOutcome.FIRED}
    assert sorted(tick.at for tick in ticks) == due


async def test_a_schedule_that_takes_the_place_of_another_definitions_is_told(node: Node) -> None:
    """Two apps that give one name to two schedules would otherwise lose one of them in silence."""
    await save_definitions(node.store, [Spec(key="report")], "test")
    mail = asked(source=Source.CODE)
    report = replace(mail, job=replace(mail.job, definition="report"))
    assert await node.schedules.announce(mail, by="a") is None
    assert await node.schedules.announce(replace(mail, remaining=9), by="a") is None
    told = await node.schedules.announce(report, by="b")
    assert told is not None
    assert told.startswith("the schedule often made jobs of mail, and from now on makes those of report; ")
    assert await node.schedules.announce(report, by="b") is None


async def test_ticks_that_passed_in_a_pause_are_noted_when_the_schedule_is_edited(
    node: Node, clock: Clock
) -> None:
    """S1.66: by the rule that had them; the new one goes on from now."""
    created = await node.schedules.create(asked())
    await node.schedules.pause(NAME)
    await clock.advance(seconds(60 * 3 + 1))
    hourly = replace(created.asked, recurrence=Recurrence(every=seconds(3600), starts_at=START))
    edited = await node.schedules.edit(hourly, revision=1)
    [missed] = await node.ticks()
    assert (missed.outcome, missed.at, missed.count) == (TickOutcome.MISSED, created.next_at, 3)
    assert edited.paused_at is not None
    assert edited.next_at == hourly.recurrence.next_after(await node.store.now())
    await node.schedules.resume(NAME)
    assert len(await node.ticks()) == 1


async def test_jobs_that_run_when_overlaps_are_forbidden_count(node: Node, clock: Clock) -> None:
    """S1.66: made while they were allowed, by a tick and by hand; both must have ended."""
    created = await node.schedules.create(asked())
    await clock.advance(seconds(60))
    await node.fire()
    await node.schedules.trigger(NAME)
    assert len(await claim(node.store, lease_for=seconds(3600))) == 2
    await node.schedules.edit(replace(created.asked, overlap=Overlap.SKIP), revision=1)
    await clock.advance(seconds(60))
    await node.fire()
    assert await node.outcomes() == ["fired", "by_hand", "overlapped"]


async def test_a_run_by_hand_at_the_very_moment_of_a_tick_takes_no_place(node: Node, clock: Clock) -> None:
    """S1.65: both make their job, and both are in the list, page by page."""
    created = await node.schedules.create(asked())
    assert created.next_at is not None
    await clock.advance(created.next_at - await node.store.now())
    by_hand = await node.schedules.trigger(NAME)
    await node.fire()
    assert by_hand.at == created.next_at
    assert sorted(await node.outcomes()) == ["by_hand", "fired"]
    [newest] = await node.store.ticks(NAME, limit=1)
    [older] = await node.store.ticks(NAME, before=newest.tick.place, limit=1)
    assert {newest.tick.outcome, older.tick.outcome} == {TickOutcome.BY_HAND, TickOutcome.FIRED}
    assert await node.store.ticks(NAME, before=older.tick.place, limit=1) == []
