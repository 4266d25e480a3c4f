"""Every invariant of schedules is seen red: a run of schedules with a single row changed breaks that one."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from chaos.checker import check
from chaos.evidence import Evidence
from chaos.schedules.calls import TickOf
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import Overlap, Tick, TickOutcome
from tests.chaos import tick_stories
from tests.chaos.planted_bugs import TERMS
from tests.chaos.scene import Scene
from tests.storage.backends import SqliteBackend
from tests.storage.clock import START
from tests.storage.verbs import seconds

NEVER = START - seconds(3600)


@dataclass(frozen=True)
class Ticked:
    """Evidence of one schedule, of which single things can be changed."""

    evidence: Evidence

    def but(self, **changed: Any) -> "Ticked":
        return Ticked(replace(self.evidence, **changed))

    def row(self, **changed: Any) -> "Ticked":
        [row] = self.evidence.schedules
        return self.but(schedules=[replace(row, **changed)])

    def overlap(self, policy: Overlap) -> "Ticked":
        """As if another policy had been asked for from the beginning."""
        [row] = self.evidence.schedules
        calls = [
            replace(call, schedule=replace(call.schedule, asked=replace(call.schedule.asked, overlap=policy)))
            for call in self.evidence.schedule_calls
            if call.schedule is not None
        ]
        return self.row(asked=replace(row.asked, overlap=policy)).but(schedule_calls=calls)

    def at(self, outcome: TickOutcome, place: int = 0) -> Tick:
        return [one.tick for one in reversed(self.evidence.ticks) if one.tick.outcome is outcome][place]

    def tick(self, old: Tick, **changed: Any) -> "Ticked":
        ticks = [
            TickOf(one.name, replace(one.tick, **changed)) if one.tick == old else one
            for one in self.evidence.ticks
        ]
        assert ticks != self.evidence.ticks, "there is nothing to forge"
        return self.but(ticks=ticks)

    def without(self, old: Tick) -> "Ticked":
        return self.but(ticks=[one for one in self.evidence.ticks if one.tick != old])

    def also(self, tick: Tick) -> "Ticked":
        return self.but(ticks=[*self.evidence.ticks, TickOf(tick_stories.NAME, tick)])

    def job(self, tick: Tick, **changed: Any) -> "Ticked":
        return self.but(
            jobs=[replace(job, **changed) if job.id == tick.job else job for job in self.evidence.jobs]
        )


async def lived(scene: Scene) -> None:
    """Ticks that fire, some that are missed, one by hand, and a pause."""
    client = await tick_stories.begun(scene, tick_stories.asked(remaining=9))
    for wait in (10, 10, 45):
        await scene.wait(wait)
        await tick_stories.fire(scene)
        await scene.wait(1)
        await tick_stories.work(scene)
    await client.trigger(tick_stories.NAME)
    await client.pause(tick_stories.NAME)
    await scene.wait(25)
    await client.resume(tick_stories.NAME)
    await scene.wait(10)
    await tick_stories.fire(scene)
    await scene.wait(1)
    await tick_stories.work(scene)


@pytest.fixture(scope="module")
def ticked(tmp_path_factory: pytest.TempPathFactory) -> Ticked:
    """Such a life, as it was."""

    async def run() -> Ticked:
        backend = SqliteBackend(tmp_path_factory.mktemp("ticked") / "tenure.db")
        await backend.prepare()
        store = backend.store()
        await store.open()
        try:
            scene = Scene(store, backend.clock)
            await lived(scene)
            return Ticked(await scene.evidence(replace(TERMS, fired_until=await store.now())))
        finally:
            await store.close()

    return asyncio.run(run())


FIRED, MISSED, BY_HAND = TickOutcome.FIRED, TickOutcome.MISSED, TickOutcome.BY_HAND
TICKS = {"I36", "I37", "I49", "I50", "I51"}
OFF = seconds(3)
"""By how much a tick is beside its rule."""


def at_work_at_once(ticked: Ticked) -> Ticked:
    """The second run was claimed while the first one was at work."""
    first, second = ticked.at(FIRED).job, ticked.at(FIRED, 1).job
    ends: dict[Any, Attempt] = {one.job: one for one in ticked.evidence.attempts}
    assert first in ends
    long = replace(ends[first], ended_at=ends[second].started_at + OFF)
    return ticked.overlap(Overlap.QUEUE).but(attempts=[*(a for j, a in ends.items() if j != first), long])


def skipped_for_nothing(ticked: Ticked) -> Ticked:
    """A tick that was missed is said to have met another run, which had ended."""
    gap, by_hand = ticked.at(MISSED, 1), ticked.at(BY_HAND)
    ended = ticked.job(by_hand, finished_at=by_hand.at)
    return ended.overlap(Overlap.SKIP).tick(gap, outcome=TickOutcome.OVERLAPPED)


def by_another_rule(ticked: Ticked) -> Ticked:
    rule = Recurrence(every=seconds(11), starts_at=START)
    calls = [
        replace(call, schedule=replace(call.schedule, asked=replace(call.schedule.asked, recurrence=rule)))
        for call in ticked.evidence.schedule_calls
        if call.schedule is not None
    ]
    return ticked.but(schedule_calls=calls)


Forgery = Callable[[Ticked], Ticked]
FORGERIES: list[tuple[set[str], str, Forgery]] = [
    ({"I36"}, "a tick that is there twice", lambda t: t.also(t.at(MISSED))),
    ({"I36"}, "a tick whose job is not there", lambda t: t.tick(t.at(FIRED), job=None)),
    ({"I36"}, "a tick with a job of nobody", lambda t: t.tick(t.at(FIRED), job=uuid4())),
    ({"I36"}, "two ticks with one job", lambda t: t.tick(t.at(FIRED), job=t.at(FIRED, 1).job)),
    ({"I36"}, "a job that no tick has", lambda t: t.without(t.at(BY_HAND))),
    ({"I36"}, "a job of another schedule", lambda t: t.job(t.at(FIRED), creator="schedule:other")),
    ({"I36"}, "a tick that was missed and has a job", lambda t: t.tick(t.at(MISSED), job=uuid4())),
    ({"I36"}, "a tick from before it was made", lambda t: t.tick(t.at(BY_HAND), noted_at=NEVER)),
    ({"I36"}, "ticks of a schedule that is gone", lambda t: t.but(schedules=[], schedule_calls=[])),
    ({"I37"}, "a gap that is not on record", lambda t: t.without(t.at(MISSED))),
    ({"I37"}, "a tick beside its rule", lambda t: t.tick(t.at(MISSED), at=t.at(MISSED).at + OFF)),
    ({"I37"}, "a gap with another number", lambda t: t.tick(t.at(MISSED), count=9)),
    ({"I37"}, "a tick before its time", lambda t: t.tick(t.at(FIRED), noted_at=t.at(FIRED).at - OFF)),
    ({"I37"}, "a tick to come that is on record", lambda t: t.row(next_at=t.at(FIRED, -1).at)),
    ({"I37"}, "a tick to come that is too far", lambda t: t.row(next_at=t.at(FIRED, -1).at + seconds(40))),
    ({"I37"}, "another rule", by_another_rule),
    (
        {"I37"},
        "a tick that nothing fires",
        lambda t: t.but(terms=replace(t.evidence.terms, fired_until=START + seconds(500))),
    ),
    ({"I49"}, "runs that are not counted", lambda t: t.row(remaining=9)),
    ({"I49"}, "a run that is counted twice", lambda t: t.row(remaining=4)),
    (
        {"I50"},
        "two runs that were not to be at once",
        lambda t: t.overlap(Overlap.SKIP).job(t.at(FIRED), finished_at=t.at(FIRED, 1).at + seconds(8)),
    ),
    ({"I50"}, "a tick skipped for nothing", skipped_for_nothing),
    ({"I50"}, "two runs at work", at_work_at_once),
    (
        {"I51"},
        "a tick in a pause",
        lambda t: t.tick(t.at(FIRED, 1), noted_at=t.at(FIRED, -1).at - seconds(20)),
    ),
]


def test_nothing_is_found_where_nothing_is_forged(ticked: Ticked) -> None:
    assert check(ticked.evidence) == []
    outcomes = {one.tick.outcome for one in ticked.evidence.ticks}
    assert outcomes == {FIRED, MISSED, BY_HAND}
    assert all(one.ending is Ending.SUCCEEDED for one in ticked.evidence.attempts)


@pytest.mark.parametrize(
    ("broken", "forgery"),
    [pytest.param(broken, forgery, id=f"{min(broken)}: {story}") for broken, story, forgery in FORGERIES],
)
def test_a_row_changed_by_hand_breaks_its_invariant(
    ticked: Ticked, broken: set[str], forgery: Forgery
) -> None:
    forged = forgery(ticked)
    # What the ledger or the history of jobs says of such a row is not in question here.
    found = {one.invariant: one for one in check(forged.evidence) if one.invariant in TICKS}
    assert set(found) == broken, found
