"""Handlers that keep their progress go on where they were: in every lane, on both stores."""

import json
from pathlib import Path
from uuid import UUID

from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.worker.durable_app import Params, entries, named
from tests.worker.running_worker import QUICK, reach
from tests.worker.serving_app import serving_app

TARGET = "tests.worker.durable_app:app"
POLICY = Policy(max_attempts=6, retry=QUICK)


async def enqueue(store: Store, definition: str, params: Params) -> UUID:
    """One job with quick retries."""
    [made] = await store.enqueue([NewJob(definition=definition, params=write(params), policy=POLICY)])
    return made.id


async def in_all_lanes(store: Store, what: str, folder: Path, **params: object) -> dict[Path, UUID]:
    """A job in each lane, async and plain, by its own ledger."""
    ledgers = {folder / name: name for name in named(what)}
    return {
        ledger: await enqueue(store, name, {"ledger": str(ledger), **params})
        for ledger, name in ledgers.items()
    }


async def test_a_handler_that_fails_half_way_goes_on_where_it_was(store: Store, tmp_path: Path) -> None:
    """S0.7, S0.6: each step runs once, and what it returned is there in the next attempt."""
    jobs = await in_all_lanes(store, "steps", tmp_path, steps=5, fails_after=2)
    async with serving_app(store, TARGET):
        for ledger, job in jobs.items():
            done = await reach(store, job, State.SUCCEEDED, State.FAILED)
            assert (done.state, done.error) == (State.SUCCEEDED, None), ledger.name
            assert done.attempt == 2
            assert json.loads(done.result or "") == [f"done step {n}" for n in range(5)]
            assert entries(ledger) == [f"step {n}" for n in range(5)], ledger.name


async def test_a_checkpoint_outlives_its_attempt(store: Store, tmp_path: Path) -> None:
    """S0.7: the state is what was kept last, however many attempts have failed since."""
    jobs = await in_all_lanes(store, "counts", tmp_path)
    async with serving_app(store, TARGET):
        for ledger, job in jobs.items():
            done = await reach(store, job, State.SUCCEEDED, State.FAILED)
            assert (done.state, done.error) == (State.SUCCEEDED, None), ledger.name
            assert (done.attempt, done.result) == (4, "10")
            assert entries(ledger) == [str(n) for n in range(1, 11)]


async def test_a_handler_that_sleeps_runs_again_from_the_top_with_its_steps(
    store: Store, tmp_path: Path
) -> None:
    """S2.30: without an attempt spent; `finally` runs at each end."""
    jobs = await in_all_lanes(store, "sleeps", tmp_path, seconds=0.1)
    async with serving_app(store, TARGET):
        for ledger, job in jobs.items():
            done = await reach(store, job, State.SUCCEEDED, State.FAILED)
            assert (done.state, done.error) == (State.SUCCEEDED, None), ledger.name
            assert json.loads(done.result or "") == ["done before", "done after", "1"]
            assert entries(ledger) == ["before", "finally", "after", "finally"]
