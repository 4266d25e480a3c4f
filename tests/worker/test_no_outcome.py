"""Attempts that end without an outcome: what their worker announces of them."""

from pathlib import Path

import pytest

from tenure.core.model.states import State
from tenure.core.signals import AttemptHandedBack, AttemptLost, AttemptStarted
from tenure.storage.contract.store import Store
from tests.worker.running_worker import appear, enqueue, reach, run_worker


async def test_what_is_handed_back_is_told_with_how_long_it_took_and_why(
    store: Store, tmp_path: Path
) -> None:
    """S2.43: one attempt that is killed, and one that waits for its slot."""
    async with run_worker(store, slots=1, buffer=1, shutdown=0) as running:
        begun = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")})
        await appear(tmp_path / "begun")
        await reach(store, await enqueue(store, "echo"), State.RUNNING)
        running.stop()
    returned = {one.claimed.lease.job: one for one in running.signals(AttemptHandedBack)}
    killed, unstarted = returned.pop(begun), *returned.values()
    assert (killed.has_begun, killed.reason) == (True, "its worker ended before it")
    assert killed.took > 0
    assert (unstarted.has_begun, unstarted.reason) == (False, "its worker runs no more jobs")
    assert unstarted.took == 0


@pytest.mark.parametrize(("lease", "fenced"), [(60, False), (1, True)])
async def test_what_is_lost_is_told_with_how_long_it_took(
    store: Store, tmp_path: Path, lease: float, fenced: bool
) -> None:
    """S2.43: whether its report is refused, or a heartbeat has found before that the lease is lost."""
    async with run_worker(store, slots=1, lease=lease) as running:
        job = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")})
        await appear(tmp_path / "begun")
        found = await reach(store, job, State.RUNNING)
        assert found.worker is not None
        first = (await running.wait_for(AttemptStarted)).claimed.lease
        await store.hand_back(found.worker, unstarted=[], killed=[first])
        if not fenced:
            (tmp_path / "end").touch()
        lost = await running.wait_for(AttemptLost)
        (tmp_path / "end").touch()
        await reach(store, job, State.SUCCEEDED)
    assert (lost.claimed.lease, lost.fenced) == (first, fenced)
    assert lost.took > 0
