"""The database goes away under load: what runs is stopped in time, and all is done when it is back."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest

from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.storage.faults.own_server import OwnServer
from tests.storage.faults.sqlite_stores import held_by_another_process
from tests.until import until
from tests.whole import IS_WHOLE
from tests.worker.running_worker import enqueue, reach, vanish
from tests.worker.worker_process import Entry, Ledger, worker_process

pytestmark = pytest.mark.both_stores

LEASE = 4
SLOTS = 5
LONG = [f"long-{n}" for n in range(SLOTS + 1)]
BUSY = 40
"""So many short jobs have run when the database goes."""
SHORT = [f"short-{n}" for n in range(800 if IS_WHOLE else 300)]
"""Far more than run until the database has gone."""


class Place(NamedTuple):
    """Where a database is that may be taken away, and for how long it is."""

    address: str
    outage: Callable[[], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    """A server that may be stopped."""
    with OwnServer() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A file that another process may lock, or a server that may be stopped without a word."""
    if request.param == "sqlite":
        path = tmp_path / "tenure.db"
        return Place(f"sqlite:///{path}", lambda: held_by_another_process(path))
    own: OwnServer = request.getfixturevalue("server")

    @contextmanager
    def stopped() -> Iterator[None]:
        own.stop_at_once()
        try:
            yield
        finally:
            own.start_again()

    return Place(own.create_database("outage"), stopped)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    """A store on it."""
    opened = store_for(place.address)
    await opened.open()
    await opened.migrate()
    yield opened
    await opened.close()


async def test_an_outage_under_load_loses_nothing_and_runs_nothing_twice_at_once(
    place: Place, store: Store, tmp_path: Path
) -> None:
    """S0.76, S3.1, S3.59: children are gone before their leases end; then workers go on by themselves."""
    ledger = Ledger(tmp_path)
    flags = ("--lease-seconds", str(LEASE), "--slots", str(SLOTS))
    async with (
        worker_process(place.address, *flags) as one,
        worker_process(place.address, *flags) as other,
    ):
        jobs = await enqueued(store, "tick", LONG, ledger)
        first = {name: (await ledger.reach(name, 1))[0] for name in LONG}
        jobs |= await enqueued(store, "short", SHORT, ledger)
        await until(lambda: len(ledger.every_entry()) >= len(LONG) + BUSY)

        with place.outage():
            for start in first.values():
                await vanish(start.pid)
            assert len(ledger.every_entry()) < len(jobs)
            for worker in (one, other):  # lest they take anything back before we have looked
                worker.send(signal.SIGSTOP)
        for name, start in first.items():
            assert ledger.last_tick(start.pid) < await lease_end(store, jobs[name], start)
        for worker in (one, other):
            worker.send(signal.SIGCONT)

        for name in LONG:  # for all of which one worker alone has too few slots
            _, second = await ledger.reach(name, 2)
            assert ledger.last_tick(first[name].pid) < second.at
        ledger.let_go()
        for job in jobs.values():
            await reach(store, job, State.SUCCEEDED)
    done = Counter((entry.what, entry.fence) for entry in ledger.every_entry())
    assert set(done.values()) == {1}
    for name, job in jobs.items():
        await ended_once(store, job, {fence for what, fence in done if what == name})


async def enqueued(store: Store, definition: str, names: list[str], ledger: Ledger) -> dict[str, UUID]:
    """A job of each name."""
    ids = await asyncio.gather(
        *(enqueue(store, definition, {**ledger.params, "name": name}) for name in names)
    )
    return dict(zip(names, ids, strict=True))


async def lease_end(store: Store, job: UUID, start: Entry) -> float:
    """When the lease ends under which an attempt was started, by the monotonic clock."""
    found = await store.get(job)
    assert found is not None
    assert (found.state, found.fence) == (State.RUNNING, start.fence)
    assert found.lease_expires_at is not None
    return found.lease_expires_at.timestamp() - time.time() + time.monotonic()


async def ended_once(store: Store, job: UUID, effects: set[int]) -> None:
    """It has one outcome, that of its last attempt; what else was done is an attempt that was lost.

    What was claimed by a question that took too long has not begun, and is given back.
    """
    *earlier, last = await store.attempts(job)
    assert last.ending is Ending.SUCCEEDED
    assert {attempt.ending for attempt in earlier} <= {Ending.LOST, Ending.HANDED_BACK}
    lost = {attempt.fence for attempt in earlier if attempt.ending is Ending.LOST}
    assert last.fence in effects <= {*lost, last.fence}
    final = [event for event in await store.events(job) if event.target and event.target.is_final]
    assert len(final) == 1
