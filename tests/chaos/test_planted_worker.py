"""What a worker promises is broken on purpose, in a worker at work, and the checker sees it.

Each life is led twice, as in the sabotage of stores: by a sound worker, where the checker finds nothing, and
by one with something taken out. They are real workers on a real clock, with processes of their own.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from chaos import ledger
from chaos.checker import check
from chaos.evidence import Stay, Terms, gather
from chaos.ledger import Entry, Kind
from tenure.core.errors import StoreUnavailable
from tenure.core.lease import Line
from tenure.core.outcome import Ending, Settled
from tenure.core.retry import Crashed
from tenure.core.signals import WorkerReady
from tenure.core.states import FINAL, State
from tenure.engine.attempts import Attempts
from tenure.engine.dispatcher import Dispatcher
from tenure.engine.heartbeat import Heartbeat
from tenure.engine.manner import Hold, Manner
from tenure.execution.halting import Halt, Halting
from tenure.execution.lane import ProcessLane
from tenure.storage.contract import Store
from tenure.storage.sqlite.store import SqliteStore
from tests.chaos.sample import HANDLERS
from tests.worker.employing import PATIENCE, Employed, employ, enqueue, reach

SHORT, LONG = timedelta(seconds=1.2), timedelta(seconds=60)
"""A lease that is over soon, for who is to lose it; and one that nobody loses, however slow the machine."""
SOON = timedelta(milliseconds=300)
SERVED = frozenset(Line("default", key) for key in HANDLERS)
TERMS = Terms(
    lease=SHORT,
    overlap=SOON,
    poll=timedelta(seconds=PATIENCE),
    stopping=timedelta(seconds=PATIENCE),
    rescue=timedelta(seconds=PATIENCE),
    served=SERVED,
    effects=frozenset({"work"}),
    slots=1,
    quiet=False,
)
"""Only what is in question is judged by the clock: the machine may be slow."""


class Workplace:
    """A store, a ledger, and workers who came and went."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.stays: list[Stay] = []
        self._ledger, self._end = folder / "ledger", folder / "end"

    async def enqueue(self, definition: str = "work", **policy: Any) -> UUID:
        params = {"ledger": str(self._ledger), "end": str(self._end)}
        return await enqueue(self.store, definition, params, policy={"max_attempts": 50, **policy})

    def let_go(self) -> None:
        self._end.touch()

    async def wrote(self, kind: Kind, count: int, *, fence: int | None = None) -> list[Entry]:
        """The lines of a kind, once there are so many."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [one for one in ledger.read(self._ledger, torn=True) if one.kind == kind]
                found = [one for one in found if fence in {None, one.fence}]
                if len(found) >= count:
                    return found
                await asyncio.sleep(0.01)

    async def lost(self, job: UUID) -> None:
        """Wait until an attempt of a job is on record as lost."""
        async with asyncio.timeout(PATIENCE):
            while all(one.ending is not Ending.LOST for one in await self.store.attempts(job)):
                await self.store.reap(10)
                await asyncio.sleep(0.02)

    @asynccontextmanager
    async def worker(
        self, *, slots: int = 1, lease: timedelta = LONG, shutdown: float = 20
    ) -> AsyncIterator[Employed]:
        """A worker, and its stay as evidence."""
        began = monotonic()
        async with employ(
            self.store,
            slots=slots,
            lease=lease.total_seconds(),
            shutdown=shutdown,
            target="tests.chaos.sample:app",
            handlers=HANDLERS,
        ) as employed:
            ready: WorkerReady = await employed.hears(WorkerReady)
            self.stays.append(Stay(worker=ready.worker.id, pid=ready.worker.pid, started_at=began))
            yield employed
            told = monotonic()
        self.stays[-1] = replace(self.stays[-1], stop_at=told, ended_at=monotonic(), exit_code=0)

    async def broken(self, **terms: Any) -> set[str]:
        """The invariants that are broken by what there is."""
        evidence = await gather(
            self.store,
            replace(TERMS, **terms),
            ledger=ledger.read(self._ledger, torn=True),
            stays=self.stays,
        )
        return {violation.invariant for violation in check(evidence)}


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
    async with place.worker(lease=LONG if sound else SHORT, shutdown=0.1) as employed:
        await place.wrote("start", 1)
        employed.stop()
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


def runs_again(patch: pytest.MonkeyPatch) -> None:
    once = ProcessLane.run

    async def run(self: ProcessLane, *args: Any, **options: Any) -> Any:
        await once(self, *args, **options)
        return await once(self, *args, **options)

    patch.setattr(ProcessLane, "run", run)


def claims_too_many(patch: pytest.MonkeyPatch) -> None:
    order = Dispatcher._order
    patch.setattr(Dispatcher, "_order", lambda self, limit: order(self, limit + 2))


def fences_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Manner, "hold", lambda *_: Hold(monotonic() + 1000, monotonic() + 1000))


def hears_no_cancel(patch: pytest.MonkeyPatch) -> None:
    ask = Halting.ask
    patch.setattr(Halting, "ask", lambda self, why: why is Halt.CANCELLED or ask(self, why))


def hands_nothing_back(patch: pytest.MonkeyPatch) -> None:
    async def hand_back(*_: Any, **__: Any) -> Settled:
        return Settled({}, [])

    patch.setattr(SqliteStore, "hand_back", hand_back)


def harms_neighbours(patch: pytest.MonkeyPatch) -> None:
    note = Attempts._note

    def note_and_halt(self: Attempts, running: Any, ended: Any) -> None:
        note(self, running, ended)
        if isinstance(ended.end, Crashed):
            self.halt(Halt.LOST)

    patch.setattr(Attempts, "_note", note_and_halt)


def is_deaf(patch: pytest.MonkeyPatch) -> None:
    async def turn(self: Dispatcher) -> float:
        return 0.1

    patch.setattr(Dispatcher, "turn", turn)


CASES: dict[str, tuple[set[str], Life, Sabotage]] = {
    "a lane that runs an attempt again": ({"I22", "I24"}, one_job, runs_again),
    "more claimed than there are slots": ({"I30"}, three_jobs, claims_too_many),
    "an attempt that outlives its lease": ({"I19"}, no_heartbeats, fences_nothing),
    "a cancellation that nobody hears": ({"I26"}, cancelled, hears_no_cancel),
    "nothing handed back by who stops": ({"I31"}, told_to_stop, hands_nothing_back),
    "neighbours halted with one that died": ({"I29"}, bad_neighbour, harms_neighbours),
    "a claim loop that stands still": ({"I33"}, left_in_line, is_deaf),
}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    """An empty store on a real clock."""
    store = SqliteStore(tmp_path / "tenure.db", durability="normal")
    await store.open()
    await store.migrate()
    yield Workplace(store, tmp_path)
    await store.close()


@pytest.fixture(autouse=True)
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the life is about, where that is something from outside."""
    if CASES[request.getfixturevalue("name")][1] is no_heartbeats:

        async def unsent(*_: Any) -> None:
            raise StoreUnavailable("no sign of life gets through")

        monkeypatch.setattr(Heartbeat, "_sent", unsent)


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
