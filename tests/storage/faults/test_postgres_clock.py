"""A PostgreSQL server whose clock is set back, by libfaketime: the store uses its time, which runs back."""

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from chaos.checker import check
from chaos.evidence import Terms, gather
from tenure.core.model.lease import Pulse
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests import faketime
from tests.postgres_server import open_temporary_place
from tests.storage.faults.own_server import OwnServer
from tests.storage.verbs import claim, enqueue_one, found, recoverable, seconds, settle, state_of, succeeded

LEASE = seconds(30)


class Clock:
    """The server's clock, with an offset to the machine's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_off_by(0)

    def is_off_by(self, seconds: int) -> None:
        """Set the offset."""
        written = self._path.with_name("written")
        written.write_text(f"{seconds:+d}\n")
        written.chmod(0o644)
        written.rename(self._path)  # atomically: the server reads it all the time


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that the server's user may read."""
    with tempfile.TemporaryDirectory(prefix="tenure-clock-", dir=open_temporary_place()) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[OwnServer]:
    """A server with that clock."""
    clock = place / "clock"
    clock.write_text("+0\n")
    given = {
        "LD_PRELOAD": str(faketime.copied(place)),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    started = OwnServer()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        started.start()
    assert "LD_PRELOAD" not in os.environ
    yield started
    started.stop()


@pytest.fixture
def clock(place: Path) -> Clock:
    """Its clock, right at first."""
    return Clock(place / "clock")


@pytest.fixture
async def store(server: OwnServer, request: pytest.FixtureRequest) -> AsyncIterator[PostgresStore]:
    """An empty database on it."""
    store = PostgresStore(server.create_database(f"clock_{abs(hash(request.node.name)) % 10**9}"))
    await store.open()
    await store.migrate()
    yield store
    await store.close()


async def test_the_servers_clock_is_the_stores(store: PostgresStore, clock: Clock) -> None:
    before = await store.now()
    clock.is_off_by(-3600)
    assert await store.now() < before - timedelta(minutes=59)


async def test_no_job_steps_back_in_time(store: PostgresStore, clock: Clock) -> None:
    """Its history stays in order, whatever the clock says."""
    job = await enqueue_one(store)
    [first] = await claim(store, lease_for=LEASE)
    clock.is_off_by(-5)
    await settle(store, [recoverable(first)])
    clock.is_off_by(5)
    await store.promote(10)
    [second] = await claim(store, lease_for=LEASE)
    clock.is_off_by(-5)
    assert (await settle(store, [succeeded(second)])).accepted == {second.lease: State.SUCCEEDED}

    clock.is_off_by(5)
    times = [event.at for event in await store.events(job)]
    assert times == sorted(times)
    evidence = await gather(store, Terms(lease=LEASE, quiet=False))
    assert {violation.invariant for violation in check(evidence)} == set()


async def test_a_lease_is_no_shorter_for_it(store: PostgresStore, clock: Clock) -> None:
    """A worker that holds a lease when the clock is set back keeps and prolongs it; others wait longer."""
    job = await enqueue_one(store)
    [claimed] = await claim(store, worker="a", lease_for=LEASE)
    clock.is_off_by(-5)
    expires = (await found(store, job)).lease_expires_at
    assert expires is not None
    assert expires - await store.now() >= LEASE

    beat = await store.heartbeat(Pulse(worker="a", leases=[claimed.lease], lease_for=LEASE))
    assert beat.kept == {claimed.lease}
    prolonged = (await found(store, job)).lease_expires_at
    assert prolonged is not None
    assert prolonged - await store.now() > LEASE - seconds(5)
    assert await store.reap(10) == []
    assert await claim(store, worker="b") == []

    clock.is_off_by(60)
    assert [moved.job for moved in await store.reap(10)] == [job]
    assert (await settle(store, [succeeded(claimed)])).lost == [claimed.lease]
    assert await state_of(store, job) is State.QUEUED
