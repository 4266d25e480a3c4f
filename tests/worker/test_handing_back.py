"""Attempts without an end of their own: handed back uncharged, and their output is kept."""

import shutil
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.signals import AttemptSettled, Troubled, WorkerStopped
from tenure.storage.contract.store import Store
from tests.until import until
from tests.whole import dealt
from tests.worker.running_worker import appear, enqueue, reach, run_worker

pytestmark = pytest.mark.parametrize("address", dealt(1), indirect=True)

ONCE: dict[str, Any] = {"max_attempts": 1}


def waiting(folder: Path, name: str) -> dict[str, str]:
    """Params of a job that runs until all are let go."""
    return {"begun": str(folder / name), "end": str(folder / "end"), "say": f"{name} was here"}


async def test_who_kills_the_zygote_is_charged_and_its_neighbours_are_not(
    store: Store, tmp_path: Path
) -> None:
    """Neither of them may be tried twice; yet both come to their own ends."""
    async with run_worker(store) as running:
        params = waiting(tmp_path, "neighbour")
        neighbour = await enqueue(store, "wait", params, policy=ONCE)
        await appear(tmp_path / "neighbour")
        (tmp_path / "neighbour").unlink()
        culprit = await enqueue(store, "kill_zygote", policy=ONCE)
        failed = await reach(store, culprit, State.FAILED)
        await appear(tmp_path / "neighbour")
        (tmp_path / "end").touch()
        done = await reach(store, neighbour, State.SUCCEEDED)
        assert running.signals(Troubled)
    assert failed.error is not None
    assert failed.error.kind == "ZygoteDied"
    assert (failed.attempt, failed.hand_backs) == (1, 1)
    assert (done.attempt, done.hand_backs) == (1, 1)
    first, second = await store.attempts(neighbour)
    assert (first.ending, second.ending) == (Ending.KILLED, Ending.SUCCEEDED)
    texts = [line.text for fence, line in await store.logs(neighbour) if fence == first.fence]
    assert texts[0] == "neighbour was here"
    assert "handed back" in texts[-1]


async def test_where_no_process_can_be_made_no_job_is_charged(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker says so, is not ready, and claims again when there is hope."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    async with run_worker(store, slots=1) as running:
        [scratch] = folder.iterdir()
        shutil.rmtree(scratch)
        jobs: list[UUID] = []
        while len(jobs) < 10 and not running.signals(Troubled):  # those forked ahead of time still serve
            jobs.append(await enqueue(store, "echo", policy=ONCE))
            await until(lambda: len(running.signals(Troubled) + running.signals(AttemptSettled)) >= len(jobs))
        await until(lambda: not running.worker.is_ready)
        scratch.mkdir()
        done = [await reach(store, job, State.SUCCEEDED) for job in jobs]
    assert [job.attempt for job in done] == [1] * len(done)
    assert done[-1].hand_backs >= 1


async def test_what_was_said_by_attempts_that_are_killed_at_shutdown_is_kept(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.engine.worker.loops.RECORD_EVERY", 3600.0)
    async with run_worker(store) as running:
        job = await enqueue(store, "wait", waiting(tmp_path, "begun"))
        await appear(tmp_path / "begun")
        running.stop()
        running.stop()
    assert [line.text for _, line in await store.logs(job)] == ["begun was here"]
    returned = await reach(store, job, State.QUEUED)
    assert (returned.attempt, returned.hand_backs) == (0, 1)
    [stopped] = running.signals(WorkerStopped)
    assert (stopped.handed_back, stopped.abandoned) == (1, 0)
