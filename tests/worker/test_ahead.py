"""Short jobs are claimed a moment ahead, so that slots do not wait and outcomes travel together."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from tenure.core.lease import Order
from tenure.core.signals import AttemptStarted
from tenure.core.states import State
from tenure.engine import shares
from tenure.engine.attempts import Attempts
from tenure.storage.contract import Store
from tests.worker.employing import appear, employ, enqueue, reach, until
from tests.worker.meddling import Meddled


@pytest.fixture
def far_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, a few attempts begin within this moment."""
    monkeypatch.setitem(shares._MOMENTS, "process", 600.0)


def watched(store: Store) -> tuple[Store, list[tuple[int, int]]]:
    """The store, and for each turn how many outcomes it brought and how many jobs it asked for."""
    turns: list[tuple[int, int]] = []
    meddled = Meddled(store)

    def note(claim: Any) -> Any:
        async def noted(reports: Any, order: Order) -> Any:
            turns.append((len(reports), order.limit))
            return await claim(reports, order)

        return noted

    meddled.interferences["settle_and_claim"] = note
    return meddled.seen, turns


@pytest.mark.usefixtures("far_sighted")
async def test_short_jobs_are_claimed_ahead_and_settled_together(store: Store) -> None:
    seen, turns = watched(store)
    jobs = [await enqueue(store, "echo") for _ in range(40)]
    async with employ(seen, slots=2, buffer=None):
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
    assert turns[0] == (0, 2)  # before anything was measured
    assert max(asked for _, asked in turns) > 2
    assert max(brought for brought, _ in turns) > 2
    assert len(turns) < len(jobs)


async def test_long_jobs_are_not_claimed_before_there_is_a_slot(store: Store, tmp_path: Path) -> None:
    """S4.26: whoever else is free may have them."""
    seen, turns = watched(store)
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    long = await enqueue(store, "wait", params)
    async with employ(seen, slots=1, buffer=None):
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
    monkeypatch.setattr("tenure.engine.attempts.HELD_FOR", 0.3)
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
    quick = [await enqueue(store, "echo") for _ in range(5)]
    async with employ(store, slots=1, buffer=None):
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
    monkeypatch.setattr("tenure.engine.attempts.HELD_FOR", 0.0)
    claimed: list[int] = []
    is_away, is_back = asyncio.Event(), asyncio.Event()
    meddled = Meddled(store)

    def hang(claim: Any) -> Any:
        async def hung(reports: Any, order: Order) -> Any:
            if len(claimed) > 2:
                is_away.set()
                await is_back.wait()
            answer = await claim(reports, order)
            claimed.append(len(answer.claimed))
            return answer

        return hung

    meddled.interferences["settle_and_claim"] = hang
    monkeypatch.setattr(Attempts, "let_go", lambda _: math.inf)
    jobs = [await enqueue(store, "echo") for _ in range(60)]
    async with employ(meddled.seen, slots=2, buffer=None) as employed:
        await is_away.wait()
        await until(lambda: employed.worker.running == 0)
        assert len(employed.told(AttemptStarted)) < sum(claimed)
        is_back.set()
        for job in jobs:
            assert (await reach(store, job, State.SUCCEEDED)).attempt == 1
