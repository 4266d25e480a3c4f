"""Programs as jobs: accepted, run, tried again or not; and what their worker says of them at its start."""

import json
from pathlib import Path
from typing import Any

import pytest

from tenure.core.model.job import Job
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.storage.contract.store import Store
from tests.whole import dealt
from tests.worker.running_worker import appear
from tests.worker.worker_process import worker_process

pytestmark = pytest.mark.parametrize("address", dealt(0), indirect=True)

TARGET = "tests.worker.program_app:app"


async def ended(store: Store, definition: str, params: Any = None) -> Job:
    """A job of a definition that the worker has registered, once it has ended."""
    client = JobClient(store, Registry())
    try:
        spec = await client.spec(definition)
        [made] = await client.enqueue([spec.new_job(write(params or {}))])
        return await client.wait(made.id, timeout=60)
    finally:
        await client.close()


async def test_a_program_runs_as_a_job_with_its_log_and_its_hooks(
    store: Store, address: str, tmp_path: Path
) -> None:
    params = {"note": str(tmp_path / "note")}
    async with worker_process(address, target=TARGET) as worker:
        await worker.wait_for("worker.ready")
        job = await ended(store, "probe", params)
        assert await appear(tmp_path / "note") == "probe 1"
    assert (job.state, json.loads(job.result or "")) == (State.SUCCEEDED, params)
    assert [(line.level, line.text) for _, line in await store.logs(job.id)] == [("stdout", "looking")]
    [attempt] = await store.attempts(job.id)
    assert attempt.usage is not None
    assert attempt.usage.peak_memory > 0


async def test_the_exit_code_decides_whether_a_program_is_tried_again(store: Store, address: str) -> None:
    """By the definition's lists of kinds, and by its fatal codes before them."""
    async with worker_process(address, target=TARGET) as worker:
        await worker.wait_for("worker.ready")
        jobs = [await ended(store, name) for name in ("tries", "gives.up", "dies", "fatal")]
    kinds = [job.error and job.error.kind for job in jobs]
    assert [(job.state, job.attempt) for job in jobs] == [
        (State.SUCCEEDED, 2),
        (State.FAILED, 1),
        (State.FAILED, 1),
        (State.FAILED, 1),
    ]
    assert (jobs[0].result, kinds[1:]) == ("2", ["ExitCode4", "SIGKILL", "ExitCode3"])


async def test_a_worker_says_how_it_keeps_attempts_apart(address: str, store: Store) -> None:
    """A line for each lane that is in use."""
    async with worker_process(address, target=TARGET) as worker:
        await worker.wait_for("worker.ready")
    notices = [line.strip() for line in worker.output if line.startswith("isolation: ")]
    programs = "dies@1, fatal@1, gives.up@1, probe@1, tries@1"
    assert notices[:2] == [
        "isolation: process (a fresh process for every attempt): plain@1",
        f"isolation: command (a program, in a fresh process for every attempt): {programs}",
    ]
