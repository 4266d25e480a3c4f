"""The output of attempts reaches the store, however much it is, and harms no other job."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.core.errors import InvalidInput, StoreUnavailable
from tenure.core.model.lease import Progress
from tenure.core.model.states import State
from tenure.core.signals import Troubled
from tenure.storage.contract.store import Store
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import enqueue, reach, run_worker
from tests.worker.worker_process import Ledger, worker_process

LINES = 6_000
"""Of output, and as many of the log: together more than a store takes in one call."""

Verb = Callable[..., Awaitable[Any]]


async def test_an_attempt_that_says_very_much_is_settled_and_all_of_it_kept(store: Store) -> None:
    """A worker is not deafened by what one attempt says."""
    async with run_worker(store) as running:
        job = await enqueue(store, "chatter", {"lines": LINES})
        await reach(store, job, State.SUCCEEDED)
    assert not running.signals(Troubled)
    first = await store.logs(job, limit=10_000)
    rest = await store.logs(job, limit=10_000, after=(first[-1].fence, first[-1].line.n))
    assert [line.n for _, line in first + rest] == list(range(1, 2 * LINES + 1))


async def test_lines_that_could_not_be_recorded_are_recorded_later_in_their_order(store: Store) -> None:
    """Portion by portion: a failure in the middle loses none and repeats none."""
    interfering = InterferingStore(store)
    calls = 0

    def fail_the_second(record: Verb) -> Verb:
        async def recorded(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise StoreUnavailable("away for a moment")
            return await record(*given)

        return recorded

    interfering.interferences["record"] = fail_the_second
    async with run_worker(interfering.store) as running:
        job = await enqueue(store, "chatter", {"lines": LINES})
        await reach(store, job, State.SUCCEEDED)
    assert running.signals(Troubled)
    first = await store.logs(job, limit=10_000)
    rest = await store.logs(job, limit=10_000, after=(first[-1].fence, first[-1].line.n))
    assert [line.n for _, line in first + rest] == list(range(1, 2 * LINES + 1))


async def test_what_a_store_refuses_to_record_keeps_no_outcome_from_it(store: Store) -> None:
    """It would be refused for ever; the outcome counts more than the lines."""
    interfering = InterferingStore(store)

    def refuse(_: Verb) -> Verb:
        async def refused(*_given: Any) -> Any:
            raise InvalidInput("trails", "are not to this store's liking")

        return refused

    interfering.interferences["record"] = refuse
    async with run_worker(interfering.store) as running:
        job = await enqueue(store, "speak")
        await reach(store, job, State.SUCCEEDED)
        assert running.signals(Troubled)
        interfering.interferences.clear()


async def test_how_far_it_came_last_is_on_record_with_the_outcome(store: Store) -> None:
    """Even if an attempt reports it just before it returns."""
    async with run_worker(store) as running:
        jobs = [await enqueue(store, "progress", {"steps": steps}) for steps in (1, 20)]
        for job in jobs:
            done = await reach(store, job, State.SUCCEEDED)
            assert done.progress == Progress(1.0, "all of it")
    assert not running.signals(Troubled)


async def test_progress_that_a_store_refuses_keeps_no_outcome_from_it(store: Store) -> None:
    """Nor does an attempt that says nothing of it cost a round trip more."""
    interfering = InterferingStore(store)
    pulses: list[Any] = []

    def refuse(beat: Verb) -> Verb:
        async def refused(pulse: Any) -> Any:
            pulses.append(pulse.progress)
            if pulse.progress:
                raise InvalidInput("progress", "is not to this store's liking")
            return await beat(pulse)

        return refused

    interfering.interferences["heartbeat"] = refuse
    async with run_worker(interfering.store) as running:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        assert not any(pulses)
        await reach(store, await enqueue(store, "progress", {"steps": 1}), State.SUCCEEDED)
        assert any(pulses)
        assert running.signals(Troubled)


@pytest.mark.parametrize("is_lost", [False, True], ids=["late", "lost"])
async def test_lines_on_their_way_are_waited_for_before_the_outcome(
    store: Store, tmp_path: Path, is_lost: bool
) -> None:
    """An outcome ends the lease under which they count."""
    interfering = InterferingStore(store)
    under_way, settling = asyncio.Event(), asyncio.Event()

    def hold(record: Verb) -> Verb:
        async def held(*given: Any) -> Any:
            if under_way.is_set():
                return await record(*given)
            under_way.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(1):  # time enough for an outcome that does not wait
                    await settling.wait()
            if is_lost:
                raise StoreUnavailable("away for a moment")
            return await record(*given)

        return held

    def watch(settle: Verb) -> Verb:
        async def settled(reports: Any, order: Any) -> Any:
            answer = await settle(reports, order)
            if reports:
                settling.set()
            return answer

        return settled

    interfering.interferences |= {"record": hold, "settle_and_claim": watch}
    async with run_worker(interfering.store):
        params = {"say": "in good time", "begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")}
        job = await enqueue(store, "wait", params)
        await under_way.wait()
        (tmp_path / "end").touch()
        await reach(store, job, State.SUCCEEDED)
    assert [line.text for _, line in await store.logs(job)] == ["in good time"]


async def test_who_emits_without_a_pause_has_its_timeout_and_its_neighbour_its_lease(
    store: Store, address: str, tmp_path: Path
) -> None:
    """S1.3: thirty thousand events in a row, in a process of its own and in one that is shared."""
    ledger = Ledger(tmp_path)
    policy = {"max_attempts": 1, "timeout": timedelta(seconds=1), "grace": timedelta(milliseconds=100)}
    async with worker_process(
        address, "--lease-seconds", "2", target="tests.worker.hostile_app:app"
    ) as worker:
        neighbour = await enqueue(store, "neighbour", ledger.params)
        await ledger.reach("start", 1)
        loud = [await enqueue(store, name, policy=policy) for name in ("emits", "emits_among_others")]
        for job in loud:
            ended = await reach(store, job, State.FAILED)
            assert ended.error is not None
            assert ended.error.kind == "TimedOut"
        ledger.let_go()
        assert (await reach(store, neighbour, State.SUCCEEDED)).attempt == 1
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
    assert not any("attempt.lost" in line for line in worker.output)
