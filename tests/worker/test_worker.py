"""A worker claims, runs and settles; what attempts do to themselves stays theirs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from tenure.core.model.lease import Order, Progress
from tenure.core.model.outcome import Report
from tenure.core.model.states import State
from tenure.core.model.turn import TurnResult
from tenure.core.signals import AttemptSettled, AttemptStarted, Troubled
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import QUICK, appear, enqueue, is_alive, reach, run_worker, written

SHORT = timedelta(milliseconds=100)


async def test_a_job_is_run_and_its_result_kept(store: Store) -> None:
    """S1.15, S1.56: claimed, run in a child, settled with what it returned."""
    async with run_worker(store) as running:
        job = await enqueue(store, "echo", {"greeting": "hello"})
        done = await reach(store, job, State.SUCCEEDED)
    assert done.result == done.params
    assert '"greeting":"hello"' in done.result
    [attempt] = await store.attempts(job)
    assert attempt.usage is not None
    assert attempt.usage.exit_code == 0
    assert attempt.usage.peak_memory > 0
    assert len(running.signals(AttemptStarted)) == len(running.signals(AttemptSettled)) == 1
    assert not running.signals(Troubled)


async def test_what_is_there_before_the_worker_is_run_too(store: Store) -> None:
    """S0.4, S3.39, S4.36: the database alone says what there is to do; slots that are free again do it."""
    jobs = [await enqueue(store, "echo") for _ in range(12)]
    async with run_worker(store, slots=3):
        for job in jobs:
            await reach(store, job, State.SUCCEEDED)


async def test_a_failure_is_tried_again_and_counted(store: Store) -> None:
    """S0.71, S1.60, S3.7: as often as it may be, no more."""
    async with run_worker(store):
        lucky = await enqueue(store, "fail_first", {"failures": 2})
        doomed = await enqueue(store, "fail_first", {"failures": 9})
        assert (await reach(store, lucky, State.SUCCEEDED)).result == "3"
        failed = await reach(store, doomed, State.FAILED)
    assert failed.attempt == 3
    assert failed.error is not None
    assert failed.error.message == "attempt 3 fails"


@pytest.mark.parametrize(("what", "kind"), [("set", "ResultNotJson"), ("text", "ResultTooLarge")])
async def test_a_result_that_cannot_be_kept_does_not_make_it_run_again(
    store: Store, what: str, kind: str, tmp_path: Path
) -> None:
    """S1.60: the next one would be the same, and what it does is done. Its policy may say otherwise."""
    once, often = {"begun": str(tmp_path / "once")}, {"begun": str(tmp_path / "often")}
    retry = structs.replace(QUICK, retry_on=(kind,))
    async with run_worker(store):
        job = await enqueue(store, "return_what_cannot_be_kept", {"what": what, **once})
        fatal = await enqueue(
            store, "return_what_cannot_be_kept", {"what": what, **often}, policy={"retry": retry}
        )
        failed = await reach(store, job, State.FAILED)
        assert (await reach(store, fatal, State.FAILED)).attempt == 3
    assert failed.error is not None
    assert (failed.attempt, failed.error.kind) == (1, kind)


async def test_a_child_that_is_killed_costs_its_own_attempt_alone(store: Store) -> None:
    """S3.42, S3.43: its neighbours and its worker go on."""
    async with run_worker(store):
        dying = await enqueue(store, "die", policy={"max_attempts": 2})
        neighbours = [await enqueue(store, "echo") for _ in range(5)]
        failed = await reach(store, dying, State.FAILED)
        for job in neighbours:
            await reach(store, job, State.SUCCEEDED)
    assert failed.attempt == 2
    assert failed.error is not None
    assert "SIGKILL" in failed.error.message
    assert [attempt.usage and attempt.usage.signal for attempt in await store.attempts(dying)] == [9, 9]


async def test_a_job_that_is_cancelled_stops_and_ends_cancelled(store: Store, tmp_path: Path) -> None:
    """S1.61: the worker hears of it and stops the child; long before the next heartbeat."""
    async with run_worker(store, lease=600):
        job = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "never")})
        child = int(await appear(tmp_path / "begun"))
        await store.cancel([job])
        await reach(store, job, State.CANCELLED)
        assert not is_alive(child)


async def test_the_grace_is_the_job_s_own(store: Store, tmp_path: Path) -> None:
    """S1.71: it is over long before another job has met its time limit."""
    params = {"begun": str(tmp_path / "beside"), "end": str(tmp_path / "end")}
    second = timedelta(seconds=1)
    async with run_worker(store):
        beside = await enqueue(store, "wait", params, policy={"timeout": 8 * second, "max_attempts": 1})
        job = await enqueue(
            store, "ignore_signals", {"begun": str(tmp_path / "begun")}, policy={"grace": second}
        )
        for name in ("begun", "beside"):
            await appear(tmp_path / name)
        await store.cancel([job])
        await reach(store, job, State.CANCELLED)
        (tmp_path / "end").touch()
        ended = await reach(store, beside, State.SUCCEEDED, State.FAILED)
    assert ended.state is State.SUCCEEDED


async def test_a_worker_that_no_hint_reaches_is_told_by_its_heartbeat(store: Store, tmp_path: Path) -> None:
    """S1.70: the request is on record, and the next heartbeat passes it on."""
    interfering = InterferingStore(store)

    def deaf(listen: Callable[..., Any]) -> Callable[..., Any]:
        @asynccontextmanager
        async def silent() -> AsyncIterator[None]:
            await asyncio.Event().wait()
            yield

        return lambda **what: silent() if what.get("stops") else listen(**what)

    interfering.interferences["listen"] = deaf
    async with run_worker(interfering.store, lease=3):
        job = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "never")})
        await appear(tmp_path / "begun")
        await store.cancel([job])
        stopped = await reach(store, job, State.CANCELLED)
    assert stopped.cancel_requested_at is not None


async def test_who_ignores_the_signal_is_killed_after_the_grace(store: Store, tmp_path: Path) -> None:
    """S1.71, S1.81: asked first, then killed."""
    async with run_worker(store):
        job = await enqueue(
            store, "ignore_signals", {"begun": str(tmp_path / "begun")}, policy={"grace": SHORT}
        )
        child = int(await appear(tmp_path / "begun"))
        await store.cancel([job])
        await reach(store, job, State.CANCELLED)
        assert not is_alive(child)


async def test_a_job_that_takes_longer_than_it_may_has_timed_out(store: Store, tmp_path: Path) -> None:
    """S4.23: in the job's own time, and not in that of its lease."""
    params = {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "never")}
    async with run_worker(store, lease=600):
        policy = {"timeout": timedelta(seconds=1), "max_attempts": 1}
        failed = await reach(store, await enqueue(store, "wait", params, policy=policy), State.FAILED)
        assert not is_alive(int((tmp_path / "begun").read_text()))
    assert failed.error is not None
    assert failed.error.kind == "TimedOut"


async def test_what_an_attempt_says_is_on_record(store: Store) -> None:
    async with run_worker(store):
        job = await enqueue(store, "speak")
        await reach(store, job, State.SUCCEEDED)
    texts = {(line.level, line.text) for _, line in await store.logs(job)}
    assert texts == {("stdout", "a line of output"), ("info", "a line of the log")}
    assert "custom:said" in [event.type for event in await store.events(job)]


async def test_how_far_an_attempt_is_can_be_seen_before_the_next_heartbeat(
    store: Store, tmp_path: Path
) -> None:
    """S0.2, S1.57: a waiter sees its progress, as the child reports it."""
    async with run_worker(store, lease=600):
        job = await enqueue(
            store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end"), "progress": 0.5}
        )

        async def progress() -> Progress | None:
            found = await store.get(job)
            return found.progress if found else None

        seen = await until(progress)
        assert seen is not None
        assert seen.fraction == 0.5
        (tmp_path / "end").touch()
        await reach(store, job, State.SUCCEEDED)


async def test_hooks_follow_the_steps_they_speak_of(store: Store, tmp_path: Path) -> None:
    """S1.6, S1.59, S1.62: each once, in order, with the error where there is one."""
    good, bad = tmp_path / "good", tmp_path / "bad"
    async with run_worker(store):
        lucky = await enqueue(store, "hooked", {"failures": 1, "hooks": str(good)})
        doomed = await enqueue(
            store, "hooked", {"failures": 9, "hooks": str(bad)}, policy={"max_attempts": 1}
        )
        await reach(store, lucky, State.SUCCEEDED)
        await reach(store, doomed, State.FAILED)
    lines = written(good)
    # The next attempt does not wait for the hooks of the last one.
    lines.remove(["on_retry", 1, "ValueError"])
    assert lines == [
        ["on_start", 1, None],
        ["on_start", 2, None],
        ["on_success", 2, None],
        ["on_end", 2, None],
    ]
    assert written(bad) == [["on_start", 1, None], ["on_fail", 1, "ValueError"], ["on_end", 1, "ValueError"]]


async def test_a_hook_that_fails_is_an_event_and_changes_nothing(store: Store) -> None:
    async with run_worker(store):
        job = await enqueue(store, "badly_hooked")
        await reach(store, job, State.SUCCEEDED)
    [*_, last] = await store.events(job)
    assert last.type == "hook_failed"
    assert last.payload is not None
    assert "the hook is broken" in last.payload
    assert (await reach(store, job, State.SUCCEEDED)).state is State.SUCCEEDED


async def test_what_was_being_claimed_when_told_to_stop_is_not_forgotten(store: Store) -> None:
    """The store has given the job away, and its answer is still on its way."""
    slow = SlowToAnswer(store)
    async with run_worker(cast("Store", slow)) as running:
        job = await enqueue(store, "echo")
        await slow.claimed.wait()
        running.worker.stop()
        for _ in range(200):  # turns of the event loop: more than an idle worker takes to end
            await asyncio.sleep(0)
        slow.let_go.set()
        returned = await reach(store, job, State.QUEUED)
        assert (returned.attempt, returned.hand_backs) == (0, 1)


class SlowToAnswer:
    """A store that holds back what it says of a claim until it is let go."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.claimed = asyncio.Event()
        self.let_go = asyncio.Event()

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> TurnResult:
        answer = await self._store.settle_and_claim(reports, order)
        if answer.claimed:
            self.claimed.set()
            await self.let_go.wait()
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
