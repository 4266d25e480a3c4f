"""Processes that are killed before and after each frame: no finished step runs twice, no effect unsaid.

In the default run each lane meets a part of the places; together they meet all.
"""

from collections import Counter
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.durable import EffectAnswer, StepStatus
from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.whole import IS_WHOLE
from tests.worker.durable_app import entries
from tests.worker.durable_kill_places import FRAMES, LANES, SIDES
from tests.worker.running_worker import QUICK, reach
from tests.worker.serving_app import serving_app
from tests.worker.worker_process import worker_process

TARGET = "tests.worker.durable_kill_app:app"
PLACES = list(product(FRAMES, SIDES))
DONE = {"step 0": 1, "step 1": 1, "charge": 1, "step 2": 1}

MAY_REPEAT = {"step 0": "step 0", "step 1": "step 1", "step 2": "step 2"}
"""By the frame that keeps it: the step that a crash may repeat, unless the reply had come."""


def plan_of(ledger: Path) -> Path:
    """The file that says where the process of a job is to die."""
    return ledger.with_suffix(".plan")


async def enqueue(store: Store, lane: str, ledger: Path, plan: str = "") -> UUID:
    """A job of this lane; its process will die as planned."""
    if plan:
        plan_of(ledger).write_text(plan)
    policy = Policy(max_attempts=9, retry=QUICK)
    params = write({"ledger": str(ledger)})
    [made] = await store.enqueue([NewJob(definition=f"{lane}.flow", params=params, policy=policy)])
    return made.id


async def ended(store: Store, job: UUID, ledger: Path) -> None:
    """Wait for its end; who is asked about the effect says what the ledger says."""
    found = await reach(store, job, State.SUCCEEDED, State.FAILED, State.SUSPENDED)
    if found.state is State.SUSPENDED:
        [doubtful] = await store.effects_in_doubt(job=job)
        happened = "charge" in entries(ledger)
        said = EffectAnswer(step=doubtful.step, happened=happened, by="a person", result=write("done charge"))
        await store.answer(job, said)
        found = await reach(store, job, State.SUCCEEDED, State.FAILED)
    assert (found.state, found.error) == (State.SUCCEEDED, None)
    assert found.result == write([f"done {what}" for what in DONE])


@pytest.mark.parametrize("lane", LANES)
async def test_no_finished_step_runs_twice_wherever_its_process_is_killed(
    store: Store, address: str, lane: str, tmp_path: Path
) -> None:
    """S0.7, S3.65: and an effect that may have happened is asked about, not repeated."""
    turn = LANES.index(lane)
    places = [place for n, place in enumerate(PLACES) if IS_WHOLE or (n + n // len(SIDES)) % 3 == turn]
    async with serving_app(store, TARGET, slots=2):
        for n, (frame, side) in enumerate(places):
            ledger = tmp_path / str(n)
            job = await enqueue(store, lane, ledger, f"{frame} {side}")
            await ended(store, job, ledger)
            assert not plan_of(ledger).exists(), "it was not killed"
            found = Counter(entries(ledger))
            repeated = {what for what, times in found.items() if times > 1}
            allowed = {MAY_REPEAT[frame]} if frame in MAY_REPEAT and side != "replied" else set()
            assert set(found) == set(DONE), (frame, side)
            assert repeated <= allowed, (frame, side)
            kept = {step.name: step.status for step in await store.steps(job)}
            assert kept == dict.fromkeys(DONE, StepStatus.DONE)


VERBS = ("recall", "keep_steps", "save_checkpoints")
WORKER_PLACES = [f"{verb} {side}" for verb in VERBS for side in ("before", "after")]


@pytest.mark.parametrize("place", WORKER_PLACES if IS_WHOLE else WORKER_PLACES[2:4])
async def test_no_finished_step_runs_twice_wherever_the_worker_is_killed(
    store: Store, address: str, place: str, tmp_path: Path
) -> None:
    """S0.7, S0.6: the next worker goes on behind what was kept."""
    ledger = tmp_path / "ledger"
    job = await enqueue(store, "process", ledger)
    module = "tests.worker.dying_worker"
    variables = {"TENURE_LEASE_SECONDS": "2", "DIES_AT": place}
    async with worker_process(address, target=TARGET, module=module, **variables) as dying:
        await dying.ended()
    before = {step.name for step in await store.steps(job) if step.status is StepStatus.DONE}
    done = Counter(entries(ledger))
    async with serving_app(store, TARGET, slots=2):
        await ended(store, job, ledger)
    found = Counter(entries(ledger))
    assert all(found[step] == done[step] == 1 for step in before)
    assert found["charge"] == 1
    assert sum(found.values()) <= len(DONE) + 1
