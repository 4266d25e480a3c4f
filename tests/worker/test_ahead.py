"""Short jobs are claimed a moment ahead, so that slots do not wait and outcomes travel together."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.errors import StoreUnavailable
from tenure.core.model.lanes import LANES, PROCESS
from tenure.core.model.lease import Order
from tenure.core.model.states import State
from tenure.core.signals import AttemptSettled, AttemptStarted, Signal
from tenure.engine.worker.slot_pool import SlotPool
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import appear, enqueue, reach, run_worker


@pytest.fixture
def far_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, a few attempts begin within this moment."""
    patient = replace(LANES[PROCESS], moment=600.0)
    monkeypatch.setitem(LANES, PROCESS, patient)


def watched(store: Store) -> tuple[Store, list[tuple[int, int]]]:
    """The store, and for each turn how many outcomes it brought and how many jobs it asked for."""
    turns: list[tuple[int, int]] = []
    interfering = InterferingStore(store)

    def note(claim: Any) -> Any:
        async def noted(reports: Any, order: Order) -> Any:
            turns.append((len(reports), order.limit))
            return await claim(reports, order)

        return noted

    interfering.interferences["settle_and_claim"] = note
    return interfering.store, turns


@pytest.mark.usefixtures("far_sighted")
async def test_short_jobs_are_claimed_ahead_and_settled_together(store: Store) -> None:
    seen, turns = watched(store)
    jobs = [await enqueue(store, "echo") for _ in range(40)]
    async with run_worker(seen, slots=2, buffer=None):
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
    assert turns[0] == (0, 2)  # before anything was measured
    assert max(limit for _, limit in turns) > 2
    assert max(brought for brought, _ in turns) > 2
    assert len(turns) < len(jobs)


async def test_what_is_on_record_is_announced_once_while_the_next_statement_is_under_way(
    store: Store,
) -> None:
    """Even if that statement fails: the outcomes before it are on record."""
    announced: list[Signal] = []
    settled: list[int] = []
    interfering = InterferingStore(store)

    def told() -> list[AttemptSettled]:
        return [signal for signal in announced if isinstance(signal, AttemptSettled)]

    def wait(claim: Any) -> Any:
        async def waited(reports: Any, order: Order) -> Any:
            before = sum(settled)
            await until(lambda: len(told()) >= before)
            if len(settled) == 3:
                settled.append(0)
                raise StoreUnavailable("away")
            answer = await claim(reports, order)
            settled.append(len(answer.settled.accepted))
            return answer

        return waited

    interfering.interferences["settle_and_claim"] = wait
    jobs = [await enqueue(store, "echo") for _ in range(30)]
    async with run_worker(interfering.store, slots=4, announced=announced):
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
    assert sorted(signal.claimed.lease.job for signal in told()) == sorted(jobs)


async def test_long_jobs_are_not_claimed_before_there_is_a_slot(store: Store, tmp_path: Path) -> None:
    """S4.26: any other free worker may have them."""
    seen, turns = watched(store)
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    long = await enqueue(store, "wait", params)
    async with run_worker(seen, slots=1, buffer=None):
        await appear(tmp_path / "begun")
        others = [await enqueue(store, "echo") for _ in range(5)]
        assert {(await reach(store, job, State.QUEUED)).hand_backs for job in others} == {0}
        (tmp_path / "end").touch()
        for job in (long, *others):
            assert (await reach(store, job, State.SUCCEEDED)).hand_backs == 0
    assert turns[0] == (0, 1)


@pytest.mark.usefixtures("far_sighted")
async def test_what_was_claimed_ahead_and_cannot_begin_is_left_to_others_uncharged(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.engine.worker.slot_pool.HELD_FOR", 0.3)
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    quick = [await enqueue(store, "echo") for _ in range(5)]
    async with run_worker(store, slots=1, buffer=None):
        for job in quick:
            await reach(store, job, State.SUCCEEDED)
        await enqueue(store, "wait", params)
        await appear(tmp_path / "begun")
        held = await enqueue(store, "echo")
        await reach(store, held, State.RUNNING)  # under a lease, behind the one that runs
        returned = await reach(store, held, State.QUEUED)
        assert returned.attempt == 0
        assert returned.hand_backs >= 1
        (tmp_path / "end").touch()
        assert (await reach(store, held, State.SUCCEEDED)).attempt == 1


@pytest.mark.usefixtures("far_sighted")
async def test_nothing_that_is_held_begins_while_the_store_does_not_answer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease might run out before its outcome is on record, and it would run twice."""
    monkeypatch.setattr("tenure.engine.worker.slot_pool.HELD_FOR", 0.0)
    claimed: list[int] = []
    is_away, is_back = asyncio.Event(), asyncio.Event()
    interfering = InterferingStore(store)

    def hang(claim: Any) -> Any:
        async def hung(reports: Any, order: Order) -> Any:
            if len(claimed) > 2:
                is_away.set()
                await is_back.wait()
            answer = await claim(reports, order)
            claimed.append(len(answer.claimed))
            return answer

        return hung

    interfering.interferences["settle_and_claim"] = hang
    monkeypatch.setattr(SlotPool, "give_back_overdue", lambda _: math.inf)
    jobs = [await enqueue(store, "echo") for _ in range(60)]
    async with run_worker(interfering.store, slots=2, buffer=None) as running:
        await is_away.wait()
        await until(lambda: running.worker.running == 0)
        assert len(running.signals(AttemptStarted)) < sum(claimed)
        is_back.set()
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
