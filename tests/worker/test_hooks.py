"""Hooks of jobs that end without a report of their owner, and hooks whose output cannot be saved."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.lease import Line, Order
from tenure.core.model.policy import OnLost
from tenure.core.model.states import State
from tenure.core.signals import HookFailed, WorkerDraining
from tenure.engine.client.registration import save_definitions
from tenure.storage.contract.store import Store
from tests.until import until
from tests.whole import dealt
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import appear, enqueue, reach, registry, run_worker, written

pytestmark = pytest.mark.parametrize("address", dealt(1), indirect=True)

HOOKED = Line("default", "hooked")
Verb = Callable[..., Awaitable[Any]]


async def log_holds(store: Store, job: UUID, lines: int) -> None:
    """Wait until a job has so many log lines."""

    async def are_there() -> bool:
        return len(await store.logs(job)) >= lines

    await until(are_there)


async def test_a_job_that_is_cancelled_before_it_runs_is_told_of_its_end(
    store: Store, tmp_path: Path
) -> None:
    """S1.26: on_end once the job has ended, however it ended; it was never claimed."""
    async with run_worker(store):
        job = await enqueue(store, "hooked", {"hooks": str(tmp_path / "hooks")}, hold=True)
        await store.cancel([job])
        await until(lambda: bool(written(tmp_path / "hooks")))
    assert written(tmp_path / "hooks") == [["on_end", 0, None]]


async def test_what_ended_while_no_worker_was_there_is_followed_up_by_the_next(
    store: Store, tmp_path: Path
) -> None:
    await save_definitions(store, registry().specs(), "an earlier worker")
    job = await enqueue(store, "hooked", {"hooks": str(tmp_path / "hooks")})
    await store.cancel([job])
    async with run_worker(store):
        await until(lambda: bool(written(tmp_path / "hooks")))


async def test_a_job_that_is_reaped_by_a_stranger_has_its_hooks_run(store: Store, tmp_path: Path) -> None:
    """Whoever takes a job from a lost worker need not know its definition."""
    await save_definitions(store, registry().specs(), "an earlier worker")
    await enqueue(store, "hooked", {"hooks": str(tmp_path / "hooks")}, policy={"max_attempts": 1})
    order = Order(worker="ghost", lines=(HOOKED,), limit=1, lease_for=timedelta(milliseconds=1))
    assert len((await store.settle_and_claim([], order)).claimed) == 1
    await until(lambda: store.reap(10))
    async with run_worker(store):
        await until(lambda: len(written(tmp_path / "hooks")) == 2)
    assert written(tmp_path / "hooks") == [["on_fail", 1, "WorkerLost"], ["on_end", 1, "WorkerLost"]]


async def test_a_job_that_is_buried_at_a_shutdown_is_followed_up_by_another_worker(
    store: Store, tmp_path: Path
) -> None:
    """Who is past its deadline has no time left for hooks."""
    begun, hooks = tmp_path / "begun", tmp_path / "hooks"
    params = {"begun": str(begun), "end": str(tmp_path / "never"), "hooks": str(hooks)}
    async with run_worker(store, shutdown=0.1) as running:
        job = await enqueue(store, "hooked_wait", params, policy={"on_lost": OnLost.BURY, "max_attempts": 1})
        await appear(begun)
        running.stop()
        await running.wait_for(WorkerDraining)
    await reach(store, job, State.BURIED)
    assert [name for name, *_ in written(hooks)] == ["on_start"]
    async with run_worker(store):
        await until(lambda: len(written(hooks)) == 3)
    assert [name for name, *_ in written(hooks)] == ["on_start", "on_fail", "on_end"]


async def test_of_several_workers_one_runs_the_hooks_of_a_job(store: Store, tmp_path: Path) -> None:
    """S1.62: at most once, and the store says whose turn it is."""
    files = [tmp_path / str(n) for n in range(10)]
    async with run_worker(store), run_worker(store):
        jobs = [await enqueue(store, "hooked", {"hooks": str(file)}, hold=True) for file in files]
        await store.cancel(jobs)
        await until(lambda: all(written(file) for file in files))
    assert [len(written(file)) for file in files] == [1] * 10


async def test_a_hook_that_fails_keeps_the_next_from_nothing_even_if_it_cannot_be_noted(
    store: Store, tmp_path: Path
) -> None:
    interfering = InterferingStore(store)

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            raise StoreUnavailable("away for a moment")

        return failed

    interfering.interferences["annotate"] = fail
    async with run_worker(interfering.store) as running:
        await enqueue(store, "half_hooked", {"hooks": str(tmp_path / "hooks")})
        await until(lambda: bool(written(tmp_path / "hooks")))
    assert written(tmp_path / "hooks") == [["on_end", 1, None]]
    [failed] = running.signals(HookFailed)
    assert failed.hook == "on_success"


async def test_a_hook_that_fails_is_an_event_of_a_job_that_never_ran_too(store: Store) -> None:
    async with run_worker(store) as running:
        job = await enqueue(store, "broken_at_the_end", hold=True)
        await store.cancel([job])
        await running.wait_for(HookFailed)
    assert [event.type for event in await store.events(job)] == ["created", "cancelled", "hook_failed"]
    assert (await reach(store, job, State.CANCELLED)).attempt == 0


@pytest.mark.parametrize(
    ("failures", "hooks", "kind"), [(0, 2, None), (9, 2, "ValueError")], ids=["on_success", "on_fail"]
)
async def test_what_hooks_say_is_kept_with_what_the_attempt_said(
    store: Store, failures: int, hooks: int, kind: str | None
) -> None:
    """S1.62: lines behind those of the attempt, events behind the end, of each hook in turn."""
    async with run_worker(store) as running:
        job = await enqueue(store, "talking", {"failures": failures}, policy={"max_attempts": 1})
        await log_holds(store, job, 2 * hooks)
    assert not running.signals(HookFailed)
    logged = await store.logs(job)
    assert sorted(line.text for _, line in logged) == sorted(
        [f"printed by a hook, {kind}", "logged by a hook"] * hooks
    )
    assert [line.n for _, line in logged] == [1, 2, 3, 4]
    end = "succeeded" if kind is None else "failed"
    assert [event.type for event in await store.events(job)] == [
        *("queued", "started", end),
        *["custom:told"] * hooks,
    ]


async def test_what_a_hook_says_of_a_job_that_never_ran_is_kept_too(store: Store) -> None:
    """S1.62: on_end of a job that was cancelled before it was claimed."""
    async with run_worker(store):
        job = await enqueue(store, "talking", hold=True)
        await store.cancel([job])
        await log_holds(store, job, 2)
    assert {fence for fence, _ in await store.logs(job)} == {0}
    assert [event.type for event in await store.events(job)] == ["created", "cancelled", "custom:told"]


async def test_what_a_hook_says_and_nobody_can_keep_is_told_of(store: Store) -> None:
    interfering = InterferingStore(store)

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            raise StoreUnavailable("away for a moment")

        return failed

    interfering.interferences["add_lines"] = fail
    async with run_worker(interfering.store) as running:
        job = await enqueue(store, "talking", {"failures": 0})
        await until(lambda: len(running.signals(HookFailed)) == 2)
        assert (await reach(store, job, State.SUCCEEDED)).error is None
    assert [failed.hook for failed in running.signals(HookFailed)] == ["on_success", "on_end"]
    assert "could not be saved" in running.signals(HookFailed)[0].error
