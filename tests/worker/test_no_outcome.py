"""Attempts that end without an outcome: what is told of them, by the worker that had them."""

from pathlib import Path

import pytest

from tenure.core.signals import AttemptHandedBack, AttemptLost, AttemptStarted
from tenure.core.states import State
from tenure.storage.contract import Store
from tests.worker.employing import appear, employ, enqueue, reach


async def test_what_is_handed_back_is_told_with_how_long_it_took_and_why(
    store: Store, tmp_path: Path
) -> None:
    """S2.43: one attempt that is killed, and one that waits for its slot."""
    async with employ(store, slots=1, buffer=1, shutdown=0) as employed:
        begun = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")})
        await appear(tmp_path / "begun")
        await reach(store, await enqueue(store, "echo"), State.RUNNING)
        employed.stop()
    told = {one.claimed.lease.job: one for one in employed.told(AttemptHandedBack)}
    killed, unstarted = told.pop(begun), *told.values()
    assert (killed.has_begun, killed.reason) == (True, "its worker ended before it")
    assert killed.took > 0
    assert (unstarted.has_begun, unstarted.reason) == (False, "its worker runs no more jobs")
    assert unstarted.took == 0


@pytest.mark.parametrize(("lease", "fenced"), [(60, False), (1, True)])
async def test_what_is_lost_is_told_with_how_long_it_took(
    store: Store, tmp_path: Path, lease: float, fenced: bool
) -> None:
    """S2.43: whether its report is refused, or a heartbeat has said before that the lease is gone."""
    async with employ(store, slots=1, lease=lease) as employed:
        job = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")})
        await appear(tmp_path / "begun")
        running = await reach(store, job, State.RUNNING)
        assert running.worker is not None
        first = (await employed.hears(AttemptStarted)).claimed.lease
        await store.hand_back(running.worker, unstarted=[], killed=[first])
        if not fenced:
            (tmp_path / "end").touch()
        lost = await employed.hears(AttemptLost)
        (tmp_path / "end").touch()
        await reach(store, job, State.SUCCEEDED)
    assert (lost.claimed.lease, lost.fenced) == (first, fenced)
    assert lost.took > 0
