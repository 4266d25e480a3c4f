"""Handles: the state of a job, its outcome, and how it is stopped."""

import asyncio
import inspect
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tenure import (
    InvalidInput,
    JobBuried,
    JobCancelled,
    JobFailed,
    JobHandle,
    JobIsAside,
    JobNotFound,
    JobNotWaiting,
    JobsAside,
    JobUnfinished,
    NoResult,
    State,
    Tenure,
)
from tenure.core.model.lease import Claimed, Line
from tenure.storage.contract.store import Store
from tenure.surfaces.library.definition import JobDefinition
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.verbs import BOOM, PATIENCE, claim, settle, succeeded, unrecoverable

Works = JobDefinition[None, Any]


@pytest.fixture
def work(app: Tenure) -> Works:
    """A definition without params."""

    @app.job("work", on_lost="bury")
    def work() -> Any: ...

    return work


async def claim_one(store: Store) -> Claimed:
    """The one job that waits, claimed by a worker."""
    [owned] = await claim(store, lines=[Line("default", "work")])
    return owned


async def test_a_result_is_waited_for(work: Works, store: Store) -> None:
    """S0.2: the outcome can always be learned."""
    job = await work.enqueue()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(job.wait(timeout=PATIENCE))
        await settle(store, [succeeded(await claim_one(store), '{"receipt":[1,2]}')])
    assert waiting.result() == await job.result() == {"receipt": [1, 2]}
    assert await job.status() is State.SUCCEEDED


async def test_a_failure_is_raised_with_its_reason(work: Works, store: Store) -> None:
    job = await work.enqueue()
    await settle(store, [unrecoverable(await claim_one(store))])
    with pytest.raises(JobFailed, match=r"job .* \(work\) failed: ValueError: boom") as caught:
        await job.wait(timeout=PATIENCE)
    assert caught.value.error == BOOM
    assert caught.value.job == job.id


async def test_a_cancelled_job_has_no_result(work: Works) -> None:
    job = await work.enqueue()
    assert await job.cancel(reason="not wanted") is State.CANCELLED
    assert await job.cancel() is State.CANCELLED
    with pytest.raises(JobCancelled):
        await job.wait(timeout=PATIENCE)
    last = (await job.events())[-1]
    assert (last.actor, last.reason) == ("library", "not wanted")


async def test_a_running_job_is_asked_to_stop(work: Works, store: Store) -> None:
    job = await work.enqueue()
    await claim_one(store)
    assert await job.cancel() is State.CANCELLING


async def test_a_buried_job_has_no_result(work: Works, store: Store) -> None:
    job = await work.enqueue()
    owned = await claim_one(store)
    await store.hand_back("a", unstarted=[], killed=[owned.lease])
    with pytest.raises(JobBuried):
        await job.wait(timeout=PATIENCE)


async def test_a_wait_that_is_too_short_leaves_the_job_alone(work: Works) -> None:
    job = await work.enqueue()
    with pytest.raises(TimeoutError, match=f"job {job.id} had not ended after 0 s. Nobody runs work@1."):
        await job.wait(timeout=0)
    assert await job.status() is State.QUEUED


async def test_a_handle_tells_why_its_job_does_not_run(work: Works, store: Store) -> None:
    job = await work.enqueue()
    why = await job.why()
    assert (why.code, why.code.needs_person) == ("unserved-definition", True)
    assert why == await asyncio.to_thread(job.why_sync)
    assert [one.code for one in why.data.also] == ["in-line"]
    await settle(store, [succeeded(await claim_one(store))])
    assert (await job.why()).code == "finished"


async def test_a_job_that_waits_is_moved_or_run_now(work: Works, store: Store) -> None:
    """By time or by delay, in plain code too; one that waits for no time is refused, with a way out."""
    job = await work.enqueue(delay=3600)
    at = datetime(2035, 1, 31, tzinfo=UTC)
    assert await job.reschedule(run_at=at) is State.SCHEDULED
    assert (await job.get()).due_at == at
    assert await asyncio.to_thread(job.reschedule_sync, delay=timedelta(hours=2)) is State.SCHEDULED
    assert await job.run_now() is State.SCHEDULED
    moved = [event for event in await job.events() if event.type == "rescheduled"]
    assert [(event.actor, sorted(event.payload)) for event in moved] == [("library", ["from", "to"])] * 3
    assert [step.job for step in await store.promote(10)] == [job.id]
    with pytest.raises(
        JobNotWaiting, match="is queued and cannot be rescheduled: its time has come"
    ) as refused:
        await job.reschedule(delay=5)
    assert refused.value.state is State.QUEUED
    for wrong in ({}, {"run_at": at, "delay": 1}, {"run_at": "soon"}, {"run_at": at.replace(tzinfo=None)}):
        with pytest.raises(InvalidInput):
            await job.reschedule(**wrong)


async def test_a_result_that_is_not_there_yet_is_not_waited_for(work: Works) -> None:
    job = await work.enqueue()
    with pytest.raises(JobUnfinished, match="is still queued"):
        await job.result()


async def test_the_history_begins_with_the_creation(work: Works) -> None:
    job = await work.enqueue(hold=True)
    await job.accept()
    assert [event.type for event in await job.events()] == ["created", "accepted"]


@pytest.mark.parametrize("ask", ["get", "status", "wait", "result", "cancel", "accept", "events"])
async def test_an_unknown_job_is_said_to_be_unknown(app: Tenure, ask: str) -> None:
    unknown = uuid4()
    with pytest.raises(JobNotFound, match=str(unknown)):
        await getattr(app.handle(unknown), ask)()


def test_everything_that_is_no_result_is_of_one_kind() -> None:
    assert all(issubclass(kind, NoResult) for kind in (JobFailed, JobCancelled, JobBuried, JobUnfinished))


@pytest.mark.parametrize("kind", [JobHandle, JobDefinition, Tenure])
def test_every_asynchronous_method_has_a_twin(kind: Any) -> None:
    methods = {name for name, value in vars(kind).items() if inspect.iscoroutinefunction(value)}
    public = {name for name in methods if not name.startswith("_")}
    assert public
    assert {f"{name}_sync" for name in public} <= vars(kind).keys()


async def test_a_job_that_is_aside_is_put_back_and_not_cancelled(
    work: Works, store: Store, backend: Backend
) -> None:
    """A job whose report cannot be recorded continues with that report, once it is repaired."""
    job = await work.enqueue()
    owned = await claim_one(store)
    await damaged_rows.next_event(backend.address, job.id)
    with pytest.raises(JobsAside):
        await settle(store, [succeeded(owned, "7")])
    for verb in (job.cancel, job.put_back):
        with pytest.raises(JobIsAside, match=str(job.id)):
            await verb()
    await damaged_rows.mend(backend.address, job.id)
    assert await job.put_back() is State.SUCCEEDED
    assert await job.result() == 7
    with pytest.raises(JobNotFound):
        await JobHandle(uuid4(), job._runtimes).put_back()
