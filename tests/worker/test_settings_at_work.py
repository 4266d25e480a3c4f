"""What the settings say reaches the worker, from its environment on, and it acts by it."""

import asyncio
import signal
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.job import Job
from tenure.core.model.lease import Line, Order
from tenure.core.model.states import State
from tenure.core.signals import Signal
from tenure.engine.config import WorkerConfig
from tenure.engine.upkeep.duties import GIVE_WAY, Duties, ignore_outlook
from tenure.settings.sources import load
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import enqueue, reach, run_worker
from tests.worker.worker_process import Ledger, worker_process

LINES = (Line("default", "echo"),)
HOUR = ("--lease-seconds", "3600")


async def begun(store: Store, ledger: Ledger) -> Job:
    """A job that runs."""
    job = await enqueue(store, "wait", ledger.params)
    await ledger.reach("start", 1)
    return await reach(store, job, State.RUNNING)


def length(job: Job) -> timedelta:
    """How long its lease is, from the last sign of life on."""
    assert job.lease_expires_at is not None
    assert job.heartbeat_at is not None
    return job.lease_expires_at - job.heartbeat_at


async def beaten(store: Store, job: UUID, since: datetime | None) -> None:
    """Wait until the lease of a job was renewed at another time than this one."""

    async def is_later() -> bool:
        return (await reach(store, job, State.RUNNING)).heartbeat_at != since

    await until(is_later)


async def prolonged(store: Store, job: UUID) -> None:
    """Wait until a heartbeat has prolonged the lease of a job."""
    first = await reach(store, job, State.RUNNING)
    await beaten(store, job, since=first.heartbeat_at)


async def test_heartbeats_come_as_often_as_the_setting_says(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S1.58: by itself it would be every ten seconds."""
    async with worker_process(address, *HOUR, TENURE_HEARTBEAT_SECONDS="0.2"):
        job = await begun(store, Ledger(tmp_path))
        await prolonged(store, job.id)
        async with asyncio.timeout(9):
            await prolonged(store, job.id)


async def test_what_was_claimed_slowly_is_prolonged_at_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease has begun long before we knew; by itself the next heartbeat would be in twenty minutes."""
    monkeypatch.setattr("tenure.engine.worker.dispatcher.SLOW", 0.0)
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    async with run_worker(store, lease=3600):
        job = await enqueue(store, "wait", params)
        claimed = await reach(store, job, State.RUNNING)
        await beaten(store, job, since=claimed.started_at)
        (tmp_path / "end").touch()


@pytest.mark.parametrize(
    ("variable", "seconds"),
    [("TENURE_LEASE_SECONDS", 77), ("TENURE_DELTA", 107)],
)
async def test_the_store_waits_for_a_silent_worker_as_long_as_the_settings_say(
    store: Store, address: str, tmp_path: Path, variable: str, seconds: int
) -> None:
    """S2.34, S4.24: the lease, and a margin on top of its thirty seconds."""
    async with worker_process(address, **{variable: "77"}):
        job = await begun(store, Ledger(tmp_path))
    assert length(job) == timedelta(seconds=seconds)


def test_a_margin_is_no_time_to_work() -> None:
    """Who hears nothing from the store stops what runs as if there were none."""
    with_margin, without = (
        WorkerConfig.of(load(environment=environment).settings, worker="w", lines=LINES)
        for environment in ({"TENURE_DELTA": "100"}, {})
    )
    assert with_margin.deadlines(0) == without.deadlines(0)
    assert (
        with_margin.deadlines(0).kill_at
        < with_margin.lease.total_seconds()
        < with_margin.lease_for.total_seconds()
    )


async def test_a_heartbeat_keeps_the_margin(store: Store, address: str, tmp_path: Path) -> None:
    async with worker_process(address, TENURE_DELTA="70", TENURE_HEARTBEAT_SECONDS="0.2"):
        job = await begun(store, Ledger(tmp_path))
        await prolonged(store, job.id)
        assert length(await reach(store, job.id, State.RUNNING)) == timedelta(seconds=100)


def duties(store: Store, *, hears: bool, **environment: str) -> Duties:
    """The duties of a worker with these settings."""
    signals: list[Signal] = []
    return Duties(
        store,
        WorkerConfig.of(load(environment=environment).settings, worker="w", lines=LINES),
        on_signal=signals.append,
        on_arrival=lambda: None,
        on_owed_hooks=asyncio.Event().wait,
        on_outlook=ignore_outlook,
        has_hints=lambda: hears,
    )


async def test_an_idle_worker_that_hears_nothing_looks_as_often_as_the_setting_says(store: Store) -> None:
    assert 50 < await duties(store, hears=False, TENURE_POLL_SECONDS="60").look() <= 60


async def test_where_hints_come_it_looks_more_seldom_and_again_when_something_happens(store: Store) -> None:
    """A poll after the last look, and not sooner, however much happens."""
    idle = duties(store, hears=True, TENURE_POLL_SECONDS="60", TENURE_LEASE_SECONDS="3600")
    assert 500 < await idle.look() <= 600
    assert idle.look_sooner()
    assert 30 < await idle.look() <= 60
    assert not idle.look_sooner()


async def test_a_look_that_a_hint_calls_for_lets_the_claim_go_first(store: Store) -> None:
    idle = duties(store, hears=True, TENURE_POLL_SECONDS="0.5")
    await idle.look()
    idle._looked_at -= 60
    assert idle.look_sooner()
    assert await idle.look() <= GIVE_WAY


async def test_a_worker_that_hears_hints_still_sees_leases_that_run_out_in_time(store: Store) -> None:
    """It looks three times a lease, whatever the poll."""
    assert await duties(store, hears=True, TENURE_LEASE_SECONDS="9").look() <= 3


async def test_a_pause_that_ends_by_itself_is_no_surprise(store: Store) -> None:
    """Nobody hints at it."""
    await store.pause("default", until=await store.now() + timedelta(seconds=100))
    idle = duties(store, hears=True, TENURE_POLL_SECONDS="60", TENURE_LEASE_SECONDS="3600")
    assert await idle.look() <= 100


async def test_a_buffer_is_claimed_ahead_kept_and_handed_back_uncharged(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S3.40, S4.26: leased from the claim on, begun when a slot is free; at shutdown it has cost nothing."""
    ledger = Ledger(tmp_path)
    jobs = [await enqueue(store, "wait", ledger.params) for _ in range(4)]
    one = {"TENURE_SLOTS": "1", "TENURE_JOB_BUFFER_SIZE": "2", "TENURE_HEARTBEAT_SECONDS": "0.2"}
    async with worker_process(address, *HOUR, **one) as worker:
        await ledger.reach("start", 1)
        held = [await reach(store, job, State.RUNNING) for job in jobs[:3]]
        assert {job.attempt for job in held} == {1}
        await prolonged(store, jobs[2])
        assert len(ledger.entries("start")) == 1
        worker.send(signal.SIGTERM)
        for job in jobs[1:3]:
            returned = await reach(store, job, State.QUEUED)
            assert (returned.attempt, returned.hand_backs) == (0, 1)
        ledger.let_go()
        assert await worker.ended() == 0
    assert (await reach(store, jobs[0], State.SUCCEEDED)).attempt == 1
    assert (await reach(store, jobs[3], State.QUEUED)).hand_backs == 0


async def test_without_a_buffer_nothing_is_held_that_cannot_start(store: Store) -> None:
    """Whoever else is free may have it: no claim asks for more than there are free slots."""
    limits: list[int] = []
    interfering = InterferingStore(store)

    def note(claim: Any) -> Any:
        async def noted(reports: Any, order: Order) -> Any:
            limits.append(order.limit)
            return await claim(reports, order)

        return noted

    interfering.interferences["settle_and_claim"] = note
    jobs = [await enqueue(store, "echo") for _ in range(6)]
    async with run_worker(interfering.store, slots=2):
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
    assert max(limits) == 2


async def test_what_waits_in_the_buffer_begins_when_a_slot_is_free(store: Store) -> None:
    async with run_worker(store, slots=2, buffer=3):
        for job in [await enqueue(store, "echo") for _ in range(12)]:
            await reach(store, job, State.SUCCEEDED)


async def test_what_is_cancelled_in_the_buffer_never_begins(store: Store, tmp_path: Path) -> None:
    """The running attempt keeps its slot."""
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    async with run_worker(store, slots=1, buffer=1, lease=600) as running:
        first = await enqueue(store, "wait", params)
        await reach(store, first, State.RUNNING)
        second = await enqueue(
            store, "wait", {"begun": str(tmp_path / "never"), "end": str(tmp_path / "end")}
        )
        await reach(store, second, State.RUNNING)
        await store.cancel([second])
        await reach(store, second, State.CANCELLED)
        assert (await reach(store, first, State.RUNNING)).attempt == 1
        (tmp_path / "end").touch()
        await reach(store, first, State.SUCCEEDED)
        await until(lambda: running.worker.is_ready)
    assert not (tmp_path / "never").exists()
