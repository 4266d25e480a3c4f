"""What a worker promises is broken on purpose, in a worker at work, and the checker sees it.

Each life is led twice, as in the sabotage of stores: by a sound worker, where the checker finds nothing, and
by one with something taken out. They are real workers on a real clock, with processes of their own.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from msgspec.structs import replace

from chaos.evidence import Secret
from tenure.core.errors import StoreUnavailable
from tenure.core.model.outcome import Settled
from tenure.core.model.retry import Crashed
from tenure.core.model.states import FINAL, State
from tenure.core.model.turn import TurnResult
from tenure.engine.config import LeaseDeadlines, WorkerConfig
from tenure.engine.worker.dispatcher import Dispatcher
from tenure.engine.worker.heartbeat import Heartbeat
from tenure.engine.worker.in_flight import InFlight
from tenure.engine.worker.slot_pool import SlotPool
from tenure.execution.parent.attempt_terms import StopReason, StopRequest
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.storage.sqlite.store import SqliteStore
from tests.chaos.worker_on_store import LONG, SHORT, SOON, TERMS, Workplace
from tests.worker.running_worker import reach

MANY = 30
"""How many jobs it takes to see something grow."""

TOKEN = "planted-in-environment"
"""In the worker's environment."""

KEPT: list[int] = []
"""Descriptors that a worker under test has kept."""

Sabotage = Callable[[pytest.MonkeyPatch], None]
Life = Callable[[Workplace, bool], Awaitable[set[str]]]


async def one_job(place: Workplace, _sound: bool) -> set[str]:
    """A job is done."""
    place.let_go()
    async with place.worker():
        await reach(place.store, await place.enqueue(), State.SUCCEEDED)
    return await place.broken()


async def three_jobs(place: Workplace, sound: bool) -> set[str]:
    """Three jobs and a worker with one slot."""
    jobs = [await place.enqueue() for _ in range(3)]
    async with place.worker():
        await place.wrote("start", 1 if sound else 2)
        await asyncio.sleep(2 * TERMS.fuzz.total_seconds())  # less than that does not count as at once
        place.let_go()
        for job in jobs:
            await reach(place.store, job, State.SUCCEEDED)
    return await place.broken()


async def no_heartbeats(place: Workplace, sound: bool) -> set[str]:
    """No sign of life arrives, so that every lease runs out under its worker."""
    job = await place.enqueue()
    async with place.worker(slots=2, lease=SHORT):
        first, second, *_ = await place.wrote("start", 2)
        await asyncio.sleep(max(0.0, second.at - monotonic()) + 2 * SOON.total_seconds())
        place.let_go()
        if not sound:
            await place.wrote("end", 1, fence=first.fence)
        await reach(place.store, job, *FINAL)
    place.stays[-1] = replace(place.stays[-1], held_up=[(place.stays[-1].started_at, monotonic())])
    return await place.broken(slots=2)


async def cancelled(place: Workplace, sound: bool) -> set[str]:
    """A job that runs is cancelled; whoever does not notice is let go later."""
    job = await place.enqueue(grace=SOON)
    async with place.worker():
        await place.wrote("start", 1)
        await place.store.cancel([job])
        if not sound:
            await asyncio.sleep(2 * SOON.total_seconds())
            place.let_go()
        await reach(place.store, job, *FINAL)
    return await place.broken(**({} if sound else {"stopping": timedelta(0)}))


async def told_to_stop(place: Workplace, sound: bool) -> set[str]:
    """A worker is told to stop while a job runs that does not end in time."""
    job = await place.enqueue()
    async with place.worker(lease=LONG if sound else SHORT, shutdown=0.1) as running:
        await place.wrote("start", 1)
        running.stop()
    if not sound:
        await place.lost(job)
    return await place.broken()


async def bad_neighbour(place: Workplace, sound: bool) -> set[str]:
    """Two jobs run; one of them dies."""
    good = await place.enqueue()
    async with place.worker(slots=2, lease=LONG if sound else SHORT):
        await place.wrote("start", 1)
        bad = await place.enqueue("die", max_attempts=1)
        await reach(place.store, bad, State.FAILED)
        if not sound:
            await place.lost(good)
        place.let_go()
        await reach(place.store, good, *FINAL)
    return await place.broken(slots=2, rescue=timedelta(0))


async def left_in_line(place: Workplace, sound: bool) -> set[str]:
    """A job, and a worker with nothing else to do."""
    place.let_go()
    async with place.worker():
        job = await place.enqueue()
        if sound:
            await reach(place.store, job, State.SUCCEEDED)
        else:
            await asyncio.sleep(2 * SOON.total_seconds())
        return await place.broken(poll=SOON / 2, rescue=timedelta(0))


async def outage(place: Workplace, sound: bool) -> set[str]:
    """A job comes while the store is away, and then it is back."""
    place.let_go()
    async with place.worker():
        place.is_away = True
        job = await place.enqueue()
        await place.goes_away()
        await reach(place.store, job, State.SUCCEEDED)
    return await place.broken(resuming=LONG if sound else SOON)


async def many_jobs(place: Workplace, _sound: bool) -> set[str]:
    """One job after the other, and a look at what the worker uses after each."""
    place.let_go()
    async with place.worker():
        for _ in range(MANY):
            await reach(place.store, await place.enqueue(), State.SUCCEEDED)
            place.measures.take("the worker", os.getpid())
    return await place.broken()


async def looked_around(place: Workplace, _sound: bool) -> set[str]:
    """A job looks at the variables around it."""
    async with place.worker():
        await reach(place.store, await place.enqueue("look"), State.SUCCEEDED)
    place.secrets.append(Secret("the token of the worker", TOKEN))
    return await place.broken()


def shares_its_environment(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ChildEnvironment, "_withheld_for", lambda _self, _name: "")


def keeps_descriptors(patch: pytest.MonkeyPatch) -> None:
    once = ProcessLane.run

    async def run(self: ProcessLane, *args: Any, **options: Any) -> Any:
        ended = await once(self, *args, **options)
        KEPT.extend(os.pipe())
        return ended

    patch.setattr(ProcessLane, "run", run)


def runs_again(patch: pytest.MonkeyPatch) -> None:
    once = ProcessLane.run

    async def run(self: ProcessLane, *args: Any, **options: Any) -> Any:
        await once(self, *args, **options)
        return await once(self, *args, **options)

    patch.setattr(ProcessLane, "run", run)


def claims_too_many(patch: pytest.MonkeyPatch) -> None:
    begin = SlotPool.__init__

    def begin_with_more(self: SlotPool, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        self._group = replace(self._group, slots=self._group.slots + 2)

    patch.setattr(SlotPool, "__init__", begin_with_more)


def fences_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        WorkerConfig, "deadlines", lambda *_: LeaseDeadlines(monotonic() + 1000, monotonic() + 1000)
    )


def hears_no_cancel(patch: pytest.MonkeyPatch) -> None:
    ask = StopRequest.ask
    patch.setattr(StopRequest, "ask", lambda self, why: why is StopReason.CANCELLED or ask(self, why))


def hands_nothing_back(patch: pytest.MonkeyPatch) -> None:
    async def hand_back(*_: Any, **__: Any) -> Settled:
        return Settled({}, [])

    patch.setattr(SqliteStore, "hand_back", hand_back)


def harms_neighbours(patch: pytest.MonkeyPatch) -> None:
    note = InFlight._note

    def note_and_halt(self: InFlight, running: Any, ended: Any) -> None:
        note(self, running, ended)
        if isinstance(ended.end, Crashed):
            for neighbour in self._pool.active():
                neighbour.stop.ask(StopReason.LOST)

    patch.setattr(InFlight, "_note", note_and_halt)


def is_deaf(patch: pytest.MonkeyPatch) -> None:
    async def turn(self: Dispatcher) -> float:
        return 0.1

    patch.setattr(Dispatcher, "turn", turn)


def sulks(patch: pytest.MonkeyPatch) -> None:
    once = Dispatcher.turn
    offended_at = 0.0

    async def turn(self: Dispatcher) -> float:
        nonlocal offended_at
        if monotonic() < offended_at + 3 * SOON.total_seconds():
            return 0.01
        try:
            return await once(self)
        except StoreUnavailable:
            offended_at = monotonic()
            raise

    patch.setattr(Dispatcher, "turn", turn)


CASES: dict[str, tuple[set[str], Life, Sabotage]] = {
    "a lane that runs an attempt again": ({"I22", "I24"}, one_job, runs_again),
    "more claimed than there are slots": ({"I30"}, three_jobs, claims_too_many),
    "an attempt that outlives its lease": ({"I19"}, no_heartbeats, fences_nothing),
    "a cancellation that no worker hears": ({"I26"}, cancelled, hears_no_cancel),
    "a worker that stops and hands nothing back": ({"I31"}, told_to_stop, hands_nothing_back),
    "neighbours halted with one that died": ({"I29"}, bad_neighbour, harms_neighbours),
    "a claim loop that stands still": ({"I33"}, left_in_line, is_deaf),
    "a worker that keeps descriptors of what has ended": ({"I45"}, many_jobs, keeps_descriptors),
    "a claim loop that is long in coming back": ({"I34"}, outage, sulks),
    "a worker that shares its environment": ({"I47"}, looked_around, shares_its_environment),
}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    """An empty store on a real clock."""
    store = SqliteStore(tmp_path / "tenure.db", durability="normal")
    await store.open()
    await store.migrate()
    yield Workplace(store, tmp_path)
    await store.close()
    while KEPT:
        os.close(KEPT.pop())


@pytest.fixture(autouse=True)
def fault(request: pytest.FixtureRequest, place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the life is about, where that is something from outside."""
    answer = SqliteStore.settle_and_claim

    async def unsent(*_: Any) -> None:
        raise StoreUnavailable("no sign of life gets through")

    async def turn(self: SqliteStore, *args: Any) -> TurnResult:
        if place.is_away:
            place.unanswered += 1
            raise StoreUnavailable("nobody answers")
        return await answer(self, *args)

    if CASES[request.getfixturevalue("name")][1] is no_heartbeats:
        monkeypatch.setattr(Heartbeat, "_send", unsent)
    monkeypatch.setattr(SqliteStore, "settle_and_claim", turn)
    monkeypatch.setenv("TENURE_TEST_TOKEN", TOKEN)


@pytest.mark.parametrize("name", CASES)
async def test_a_sound_worker_stands_it(name: str, place: Workplace) -> None:
    _, life, _ = CASES[name]
    assert await life(place, True) == set()


@pytest.mark.parametrize("name", CASES)
async def test_what_was_taken_out_of_a_worker_is_noticed(
    name: str, place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, life, sabotage = CASES[name]
    sabotage(monkeypatch)
    assert broken <= await life(place, False)
