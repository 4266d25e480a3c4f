"""The guards of attempts: only the steps that do so add an attempt or refund one."""

import pytest

from tenure.core.model.policy import Policy
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.clock import Clock
from tests.storage.contract.test_guards import change, move, passes
from tests.storage.verbs import claim, enqueue_one, found, job_in, recoverable, seconds, settle

UNFINISHED = [state for state in State if not state.is_final]


@pytest.mark.parametrize("state", UNFINISHED)
@pytest.mark.parametrize("bound", ["max_attempts + 1", "max_attempts - 1", "100"])
async def test_how_often_a_job_may_be_tried_never_changes(
    store: Store, backend: Backend, state: State, bound: str
) -> None:
    """S0.30, S3.23: what was promised when the job was accepted is a bound for good."""
    job = await job_in(store, state)
    assert not await passes(backend, change(job, f"max_attempts = {bound}"))


async def test_a_usual_step_brings_no_attempts_with_it(store: Store, backend: Backend) -> None:
    """S0.30: neither a claim nor a success changes the bound, or takes back what was counted."""
    running, queued = await job_in(store, State.RUNNING), await job_in(store, State.QUEUED)
    for job, source, target in (
        (running, State.RUNNING, State.SUCCEEDED),
        (queued, State.QUEUED, State.RUNNING),
    ):
        step = move(job, source, target)
        more = step.replace(" SET ", " SET max_attempts = max_attempts + 1, ")
        assert not await passes(backend, more), source
    fewer = move(running, State.RUNNING, State.SUCCEEDED).replace(" SET ", " SET attempt = attempt - 1, ")
    assert not await passes(backend, fewer)


@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING, State.RETRYING])
async def test_no_attempt_is_given_back_by_hand(store: Store, backend: Backend, state: State) -> None:
    """S0.30, S3.46: what was counted at the claim stays counted."""
    job = await job_in(store, state)
    assert not await passes(backend, change(job, "attempt = attempt - 1"))
    assert not await passes(backend, change(job, "attempt = 0"))


@pytest.mark.parametrize("target", [State.QUEUED, State.SUSPENDED])
async def test_two_steps_give_one_attempt_back_and_no_more(
    store: Store, clock: Clock, backend: Backend, target: State
) -> None:
    """S0.30: a job that is handed back or suspended has not used its attempt; those before it are used."""
    job = await enqueue_one(store, policy=Policy(max_attempts=3))
    [owned] = await claim(store)
    await settle(store, [recoverable(owned)])
    await clock.advance(seconds(10))
    await store.promote(10)
    await claim(store)
    assert (await found(store, job)).attempt == 2

    step = move(job, State.RUNNING, target)
    for attempt in ("0", "attempt - 2"):
        assert not await passes(backend, step.replace(" SET ", f" SET attempt = {attempt}, "))
    assert await passes(backend, step.replace(" SET ", " SET attempt = attempt - 1, "))
    assert (await found(store, job)).attempt == 1


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (State.RUNNING, State.RETRYING),
        (State.RUNNING, State.FAILED),
        (State.RUNNING, State.CANCELLING),
        (State.CANCELLING, State.CANCELLED),
        (State.RETRYING, State.QUEUED),
        (State.RETRYING, State.CANCELLED),
    ],
)
async def test_no_other_step_gives_an_attempt_back(
    store: Store, backend: Backend, source: State, target: State
) -> None:
    """S0.30, S3.46: a job that kills its worker is bounded like any other."""
    job = await job_in(store, source)
    step = move(job, source, target)
    assert not await passes(backend, step.replace(" SET ", " SET attempt = attempt - 1, "))
    assert await passes(backend, step)
