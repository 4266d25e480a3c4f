"""Handlers that keep their progress go on where they were: in every lane, on both stores."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.core.signals import AttemptLost
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.durable_app import Params, entries, named
from tests.worker.interfering_store import Interference, InterferingStore
from tests.worker.running_worker import QUICK, reach
from tests.worker.serving_app import serving_app

TARGET = "tests.worker.durable_app:app"
Verb = Callable[..., Awaitable[Any]]
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


async def test_a_job_that_sleeps_holds_no_slot(store: Store, tmp_path: Path) -> None:
    """S2.30: with one slot, what comes later runs meanwhile."""
    async with serving_app(store, TARGET, slots=1):
        asleep = await enqueue(store, "process.sleeps", {"ledger": str(tmp_path / "one"), "seconds": 3600})
        await reach(store, asleep, State.SUSPENDED)
        plain = await enqueue(store, "plain", {})
        await reach(store, plain, State.SUCCEEDED)
        found = await store.get(asleep)
    assert found is not None
    assert (found.state, found.attempt) == (State.SUSPENDED, 0)


async def test_handlers_without_steps_ask_nothing(store: Store) -> None:
    """What is not used costs nothing: no question, no write, no module."""
    asked: list[str] = []
    interfering = InterferingStore(store)
    for verb in ("recall", "keep_steps", "save_checkpoints", "suspend"):
        interfering.interferences[verb] = _noting(asked, verb)
    async with serving_app(interfering.store, TARGET):
        await reach(store, await enqueue(store, "plain", {}), State.SUCCEEDED)
        assert asked == []
        job = await enqueue(store, "effect", {"ledger": "/dev/null"})
        await reach(store, job, State.SUCCEEDED)
    assert asked == ["recall", "keep_steps"]


async def test_a_hundred_handlers_that_step_share_their_commits(store: Store, tmp_path: Path) -> None:
    """S2.30: what is kept while a write is under way goes along with the next."""
    count = 100
    sizes: list[int] = []
    interfering = InterferingStore(store)
    interfering.interferences["keep_steps"] = _measuring(sizes)
    params = {"ledger": str(tmp_path / "ledger"), "count": count}
    async with serving_app(interfering.store, TARGET, slots=count):
        jobs = [await enqueue(store, "async.steps_together", params) for _ in range(count)]
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)
    assert sum(sizes) == count
    assert len(sizes) <= count / 4
    assert len(entries(tmp_path / "ledger.done")) == count


async def test_a_handler_waits_while_the_store_is_away(store: Store, tmp_path: Path) -> None:
    """S0.6: its effect is done; it is told no error, and does not do it again."""
    interfering = InterferingStore(store)
    tries = 0

    def away(call: Verb) -> Verb:
        async def keep(*given: Any) -> Any:
            nonlocal tries
            tries += 1
            if tries < 4:
                raise StoreUnavailable("away", unknown=tries == 2)
            return await call(*given)

        return keep

    interfering.interferences["keep_steps"] = away
    ledger = tmp_path / "ledger"
    async with serving_app(interfering.store, TARGET):
        done = await reach(store, await enqueue(store, "effect", {"ledger": str(ledger)}), State.SUCCEEDED)
    assert (done.attempt, tries, entries(ledger)) == (1, 4, ["effect", "after"])


async def test_an_attempt_that_has_lost_its_lease_keeps_nothing_and_is_halted(
    store: Store, tmp_path: Path
) -> None:
    """S0.14: the one that owns the job now runs the step itself, and its own is kept."""
    interfering = InterferingStore(store)
    refused = 0

    def lost(call: Verb) -> Verb:
        async def keep(worker: str, steps: Any) -> Any:
            nonlocal refused
            if refused == 0:
                refused += 1
                [(lease, _)] = steps
                await store.hand_back(worker, unstarted=[], killed=[lease])
            return await call(worker, steps)

        return keep

    interfering.interferences["keep_steps"] = lost
    ledger = tmp_path / "ledger"
    async with serving_app(interfering.store, TARGET) as running:
        job = await enqueue(store, "effect", {"ledger": str(ledger)})
        done = await reach(store, job, State.SUCCEEDED)
        await until(lambda: bool(running.signals(AttemptLost)))
    assert entries(ledger) == ["effect", "effect", "after"]
    [kept] = await store.steps(job)
    assert (kept.fence, done.attempt) == (2, 1)


def _noting(asked: list[str], verb: str) -> Interference:
    def noted(call: Verb) -> Verb:
        async def noting(*given: Any) -> Any:
            asked.append(verb)
            return await call(*given)

        return noting

    return noted


def _measuring(sizes: list[int]) -> Interference:
    def measured(call: Verb) -> Verb:
        async def measuring(worker: str, steps: Any) -> Any:
            sizes.append(len(steps))
            return await call(worker, steps)

        return measuring

    return measured
