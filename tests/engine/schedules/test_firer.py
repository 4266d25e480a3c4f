"""Schedules that fire: what becomes of ticks, on both stores, by a clock that the test moves."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.core.schedule.backlog import Missed
from tenure.core.schedule.recurrence import Recurrence
from tenure.core.schedule.schedule import (
    Firing,
    NewSchedule,
    Overlap,
    Schedule,
    ScheduledJob,
    ScheduleName,
    Tick,
    TickOutcome,
)
from tenure.core.signals import ScheduleTicked, Signal
from tenure.core.values.documents import Document
from tenure.engine.client.admission import Admission
from tenure.engine.client.quota import Quota
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Registry
from tenure.engine.schedules.firer import Firer
from tenure.engine.schedules.job_maker import JobMaker
from tenure.engine.schedules.schedules import Schedules
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.verbs import claim, found, seconds, settle, succeeded

MAIL = Spec(
    key="mail",
    params_schema=Document(
        '{"type":"object","properties":{"to":{"type":"string"}},"additionalProperties":false}'
    ),
)
START = datetime(2020, 1, 1, tzinfo=UTC)
NAME = ScheduleName("default", "often")


class Node:
    """A process that fires schedules, and may change them."""

    def __init__(self, store: Store, *, of_queue: int = 0) -> None:
        self.store = store
        self.signals: list[Signal] = []
        jobs = JobMaker(Admission(store, Registry()), Quota(store, of_queue))
        self.firer = Firer(store, jobs, self.signals.append)
        self.schedules = Schedules(store, jobs)

    async def fire(self) -> None:
        """Fire until nothing is due."""
        for _ in range(20):
            if not await self.firer.fire_due():
                return
        raise AssertionError("something is always due")

    async def outcomes(self, name: ScheduleName = NAME) -> list[str]:
        """What became of the ticks, oldest first."""
        return [tick.outcome.value for tick in reversed(await self.ticks(name))]

    async def ticks(self, name: ScheduleName = NAME) -> list[Tick]:
        return [one.tick for one in await self.store.ticks(name)]


@pytest.fixture
async def node(store: Store) -> Node:
    await save_definitions(store, [MAIL], "test")
    return Node(store)


def asked(every: float = 60, *, name: str = "often", params: str = "{}", **terms: Any) -> NewSchedule:
    return NewSchedule(
        id=name,
        job=ScheduledJob(definition="mail", params=Document(params)),
        recurrence=Recurrence(every=seconds(every), starts_at=START),
        **terms,
    )


async def jobs_in(store: Store, *states: State) -> int:
    page = await store.page(Filter(states=frozenset(states) or frozenset(State)), limit=200)
    return len(page.jobs)


async def test_each_tick_is_one_job_however_many_nodes_fire(node: Node, clock: Clock) -> None:
    """S1.7, S1.65, S1.83: by the store's time, with no leader; one node alone tells of each tick."""
    await node.schedules.create(asked())
    nodes = [node, *(Node(node.store) for _ in range(4))]
    for _ in range(6):
        await clock.advance(seconds(60))
        await asyncio.gather(*(one.fire() for one in nodes))
    assert await node.outcomes() == ["fired"] * 6
    assert await jobs_in(node.store) == 6
    assert len({tick.at for tick in await node.ticks()}) == 6
    assert [type(signal) for one in nodes for signal in one.signals] == [ScheduleTicked] * 6


@pytest.mark.parametrize("overlap", list(Overlap))
@pytest.mark.parametrize("missed", list(Missed))
async def test_what_fires_after_an_outage_follows_both_policies(
    node: Node, clock: Clock, missed: Missed, overlap: Overlap
) -> None:
    """S1.66: three ticks passed; the table of the reference page, cell by cell."""
    await node.schedules.create(asked(missed=missed, overlap=overlap))
    await clock.advance(seconds(60 * 3 + 40))
    await node.fire()
    fires = {Missed.SKIP: 0, Missed.ONE: 1, Missed.ALL: 3}[missed]
    expected = {
        Overlap.ALLOW: ["fired"] * fires,
        Overlap.QUEUE: ["fired"] * fires,
        Overlap.SKIP: (["fired"] + ["overlapped"] * (fires - 1)) if fires else [],
        Overlap.CANCEL: (["overlapped"] * (fires - 1) + ["fired"]) if fires else [],
    }[overlap]
    skipped = [] if missed is Missed.ALL else ["missed"]
    assert await node.outcomes() == skipped + expected
    assert sum(tick.count for tick in await node.ticks()) == 3


@pytest.mark.parametrize(
    ("overlap", "outcomes", "running"),
    [
        (Overlap.ALLOW, ["fired", "fired"], 2),
        (Overlap.SKIP, ["fired", "overlapped"], 1),
        (Overlap.QUEUE, ["fired", "fired"], 1),
        (Overlap.CANCEL, ["fired", "fired"], 0),
    ],
)
async def test_a_tick_that_meets_a_running_job_of_the_last_one(
    node: Node, clock: Clock, overlap: Overlap, outcomes: list[str], running: int
) -> None:
    """S1.66: they run side by side, or the new one is left out, waits, or ends the old one."""
    await node.schedules.create(asked(overlap=overlap))
    await clock.advance(seconds(60))
    await node.fire()
    [first] = await claim(node.store, lease_for=seconds(3600))
    await clock.advance(seconds(60))
    await node.fire()
    assert await node.outcomes() == outcomes
    await claim(node.store, lease_for=seconds(3600))
    assert await jobs_in(node.store, State.RUNNING) == running
    assert (await jobs_in(node.store, State.CANCELLING) == 1) is (overlap is Overlap.CANCEL)
    await settle(node.store, [succeeded(first)])
    assert len(await claim(node.store)) == (overlap in {Overlap.QUEUE, Overlap.CANCEL})


async def test_a_schedule_ends_with_its_count_or_its_date(node: Node, clock: Clock) -> None:
    """S4.29: repeated so often, or until then."""
    ending = Recurrence(every=seconds(60), starts_at=START, ends_at=await node.store.now() + seconds(130))
    await node.schedules.create(asked(remaining=2))
    await node.schedules.create(
        NewSchedule(id="until", job=ScheduledJob(definition="mail"), recurrence=ending)
    )
    for _ in range(5):
        await clock.advance(seconds(60))
        await node.fire()
    assert await node.outcomes() == ["fired"] * 2
    assert await node.outcomes(ScheduleName("default", "until")) == ["fired"] * 2
    assert [one.next_at for one in await node.store.schedules()] == [None, None]


async def test_a_job_that_is_refused_is_noted_and_stops_no_other(node: Node, clock: Clock) -> None:
    """A definition that has changed, or is gone: the tick says so, and the schedule goes on."""
    await node.schedules.create(asked(params='{"to":"ada"}'))
    await node.schedules.create(asked(name="fine"))
    strict = Document('{"type":"object","properties":{"cc":{}},"additionalProperties":false}')
    await save_definitions(node.store, [Spec(key="mail", params_schema=strict)], "test")
    later = Node(node.store)
    await clock.advance(seconds(60))
    await later.fire()
    [failed] = await later.ticks()
    assert failed.outcome is TickOutcome.FAILED
    assert failed.problem == "mail@1: params/to: is not known"
    assert await later.outcomes(ScheduleName("default", "fine")) == ["fired"]
    schedule = await node.store.schedule(NAME)
    assert schedule is not None
    assert schedule.next_at is not None
    assert schedule.next_at > await node.store.now()


async def test_a_full_queue_leaves_a_tick_out(node: Node, clock: Clock) -> None:
    await node.schedules.create(asked())
    await clock.advance(seconds(60))
    await node.fire()
    await clock.advance(seconds(60))
    await Node(node.store, of_queue=1).fire()
    assert await node.outcomes() == ["fired", "full"]


async def test_jitter_delays_the_job_and_not_the_tick(node: Node, clock: Clock) -> None:
    """The job starts when it was foreseen to."""
    created = await node.schedules.create(asked(3600, jitter=seconds(3000)))
    [foreseen] = await node.schedules.coming(NAME, 1)
    assert foreseen.at == created.next_at
    assert timedelta() < foreseen.starts_at - foreseen.at < seconds(3000)
    await clock.advance(foreseen.at - await node.store.now())
    await node.fire()
    [tick] = await node.ticks()
    assert (tick.at, tick.outcome) == (foreseen.at, TickOutcome.FIRED)
    assert tick.job is not None
    job = await found(node.store, tick.job)
    assert (job.state, job.run_at) == (State.SCHEDULED, foreseen.starts_at)


async def test_what_is_to_come_begins_with_the_tick_that_is_waited_for(node: Node) -> None:
    """Not with one before it, which a clock that steps back shows again."""
    created = await node.schedules.create(asked())
    assert created.next_at is not None
    later = created.next_at + seconds(60 * 5)
    moved = Firing(
        namespace="default",
        schedule="often",
        revision=1,
        expected=created.next_at,
        next_at=later,
        ticks=[],
    )
    assert await node.store.fire([moved]) == [[]]
    coming = await node.schedules.coming(NAME, 2)
    assert [one.at for one in coming] == [later, later + seconds(60)]
    await node.schedules.pause(NAME)
    assert [one.at for one in await node.schedules.coming(NAME, 2)] == [later, later + seconds(60)]


async def test_the_duty_sleeps_until_the_next_tick(node: Node, clock: Clock) -> None:
    outlook = await node.store.outlook([])
    assert outlook.next_tick is None
    created: Schedule = await node.schedules.create(asked())
    assert (await node.store.outlook([])).next_tick == created.next_at
    assert await node.firer.fire_due() is False


async def test_an_edit_neither_counts_runs_anew_nor_revives_a_schedule_that_is_over(
    node: Node, clock: Clock
) -> None:
    """S4.29: as many runs are left as before, unless the edit says otherwise."""
    created = await node.schedules.create(asked(remaining=3))
    for _ in range(2):
        await clock.advance(seconds(60))
        await node.fire()
    changed = replace(created.asked, jitter=seconds(1))
    edited = await node.schedules.edit(changed, revision=1)
    assert edited.remaining == 1
    await clock.advance(seconds(60))
    await node.fire()
    over = await node.schedules.edit(created.asked, revision=2)
    assert (over.remaining, over.next_at) == (0, None)
    again = await node.schedules.edit(created.asked, revision=3, recounts=True)
    assert again.remaining == 3
    assert again.next_at is not None


async def test_a_run_is_cancelled_only_for_one_that_takes_its_place(node: Node, clock: Clock) -> None:
    """S1.66: a job whose successor is refused goes on."""
    await node.schedules.create(asked(params='{"to":"ada"}', overlap=Overlap.CANCEL))
    await clock.advance(seconds(60))
    await node.fire()
    await claim(node.store, lease_for=seconds(3600))
    strict = Document('{"type":"object","properties":{"cc":{}},"additionalProperties":false}')
    await save_definitions(node.store, [Spec(key="mail", params_schema=strict)], "test")
    later = Node(node.store)
    await clock.advance(seconds(60))
    await later.fire()
    assert await later.outcomes() == ["fired", "failed"]
    assert await jobs_in(node.store, State.RUNNING) == 1
