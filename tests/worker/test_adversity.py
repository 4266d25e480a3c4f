"""A worker in the middle of other people's troubles: it goes on, and it comes to its end."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.lease import Line, Order
from tenure.core.model.states import State
from tenure.core.signals import AttemptSettled, HookFailed, Signal, Troubled, WorkerDraining, WorkerStopped
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import ROOT, appear, enqueue, reach, run_worker, written

Verb = Callable[..., Awaitable[Any]]


async def test_jobs_that_a_duty_has_ended_cannot_be_looked_at_and_the_worker_goes_on(store: Store) -> None:
    """Hooks are a courtesy, for whose sake no worker ends."""
    ended = await enqueue(store, "hooked", policy={"max_attempts": 1})
    line = Line("default", "hooked")
    await store.settle_and_claim(
        [], Order(worker="ghost", lines=(line,), limit=1, lease_for=timedelta(seconds=1))
    )
    interfering = InterferingStore(store)
    called = asyncio.Event()

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            called.set()
            raise StoreUnavailable("away for a moment")

        return failed

    interfering.interferences["get"] = fail
    async with run_worker(interfering.store) as running:
        await reach(store, ended, State.FAILED)
        await called.wait()
        job = await enqueue(store, "echo")
        await reach(store, job, State.SUCCEEDED)
        assert (await running.wait_for(HookFailed)).job == str(ended)


async def test_who_hears_signals_badly_harms_no_worker(store: Store) -> None:
    """Standard error may be a pipe without a reader."""

    class Broken(list[Signal]):
        def append(self, signal: Signal) -> None:
            super().append(signal)
            raise BrokenPipeError

    async with run_worker(store, announced=Broken()) as running:
        for _ in range(2):
            job = await enqueue(store, "echo")
            await reach(store, job, State.SUCCEEDED)
    assert len(running.signals(AttemptSettled)) == 2


async def test_what_was_being_claimed_when_the_worker_was_told_to_stop_is_given_back(store: Store) -> None:
    """Not started, not charged, and not left to its lease."""
    interfering = InterferingStore(store)
    claimed, stopped = asyncio.Event(), asyncio.Event()

    def hold(claim: Verb) -> Verb:
        async def held(*given: Any) -> Any:
            answer = await claim(*given)
            if answer.claimed:
                claimed.set()
                await stopped.wait()
            return answer

        return held

    interfering.interferences["settle_and_claim"] = hold
    async with run_worker(interfering.store) as running:
        job = await enqueue(store, "echo")
        await claimed.wait()
        running.stop()
        await running.wait_for(WorkerDraining)
        stopped.set()
    returned = await reach(store, job, State.QUEUED)
    assert (returned.attempt, returned.hand_backs) == (0, 1)
    [stopped] = running.signals(WorkerStopped)
    assert (stopped.handed_back, stopped.abandoned) == (1, 0)


async def test_what_was_claimed_by_a_question_that_took_too_long_is_given_back(store: Store) -> None:
    """It would be halted before it began: that costs no attempt, and no wait for the end of its lease."""
    interfering = InterferingStore(store)
    lease = 3.0
    questions = 0

    def delay(claim: Verb) -> Verb:
        async def delayed(reports: Any, order: Any) -> Any:
            nonlocal questions
            questions += 1
            if questions == 1:  # how long a stalled wire holds a question back
                await asyncio.sleep(0.9 * lease)
            return await claim(reports, order)

        return delayed

    interfering.interferences["settle_and_claim"] = delay
    job = await enqueue(store, "echo")
    async with run_worker(interfering.store, lease=lease):
        done = await reach(store, job, State.SUCCEEDED)
    assert done.attempt == 1
    assert done.hand_backs >= 1  # a machine with much else to do may hold up the next one, too


async def test_an_outcome_that_comes_last_keeps_no_worker_waiting_for_its_hook(
    store: Store, tmp_path: Path
) -> None:
    """At the deadline hooks are over too, those included that would begin only then."""
    interfering = InterferingStore(store)
    settling, forced = asyncio.Event(), asyncio.Event()

    def hold(settle: Verb) -> Verb:
        async def held(reports: Any, order: Any) -> Any:
            if reports:
                settling.set()
                await forced.wait()
            return await settle(reports, order)

        return held

    interfering.interferences["settle_and_claim"] = hold
    async with run_worker(interfering.store) as running:
        job = await enqueue(store, "endlessly_hooked", {"hooks": str(tmp_path / "hooks")})
        await settling.wait()
        running.stop()
        running.stop()
        await running.wait_for(WorkerDraining)
        asyncio.get_running_loop().call_soon(forced.set)
    await reach(store, job, State.SUCCEEDED)
    assert not written(tmp_path / "hooks")


async def test_one_signal_after_an_operators_wish_is_no_second_signal(store: Store, tmp_path: Path) -> None:
    """What runs comes to its end, whichever request came first."""
    begun, end = tmp_path / "begun", tmp_path / "end"
    async with run_worker(store, lease=6) as running:
        job = await enqueue(store, "wait", {"begun": str(begun), "end": str(end)})
        await appear(begun)
        [worker] = await store.workers()
        await store.drain(worker.worker.id)
        await running.wait_for(WorkerDraining)
        running.stop()
        end.touch()
    assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


async def test_timers_that_others_hold_keep_nobody_busy_and_no_lease_from_being_reaped(store: Store) -> None:
    """Each duty is done, whatever becomes of the other; what cannot be done now is not tried at once."""
    interfering = InterferingStore(store)
    looks = 0

    def leave_out(_: Verb) -> Verb:
        async def none(_limit: int) -> list[Any]:
            return []

        return none

    def count(outlook: Verb) -> Verb:
        async def counted(*given: Any) -> Any:
            nonlocal looks
            looks += 1
            return await outlook(*given)

        return counted

    interfering.interferences |= {"promote": leave_out, "outlook": count}
    await enqueue(store, "echo", delay=timedelta(milliseconds=1))
    lost = await enqueue(store, "echo", queue="elsewhere", policy={"max_attempts": 1})
    order = Order(worker="ghost", lines=(Line("elsewhere", "echo"),), limit=1, lease_for=timedelta(seconds=1))
    await store.settle_and_claim([], order)
    async with run_worker(interfering.store):
        await reach(store, lost, State.FAILED)
        assert looks < 100


async def test_a_worker_that_cannot_claim_is_not_ready(store: Store) -> None:
    """Ready is whose claim loop goes well, and not whose loop is tried in vain."""
    interfering = InterferingStore(store)

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            raise StoreUnavailable("away")

        return failed

    async with run_worker(interfering.store) as running:
        job = await enqueue(store, "echo")
        await reach(store, job, State.SUCCEEDED)
        assert running.worker.is_ready
        interfering.interferences["settle_and_claim"] = fail
        job = await enqueue(store, "echo")
        await until(lambda: not running.worker.is_ready)
        interfering.interferences.clear()
        await reach(store, job, State.SUCCEEDED)
        assert running.worker.is_ready


async def test_whether_a_worker_is_ready_is_seen_from_outside(store: Store) -> None:
    """In the worker's row, as of its last heartbeat."""
    interfering = InterferingStore(store)

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            raise StoreUnavailable("away")

        return failed

    async def shown(is_ready: bool) -> None:
        async def is_shown() -> bool:
            return [one.is_ready for one in await store.workers()] == [is_ready]

        await until(is_shown)

    async with run_worker(interfering.store, lease=6):
        await shown(is_ready=True)
        interfering.interferences["settle_and_claim"] = fail
        await enqueue(store, "echo")
        await shown(is_ready=False)
        interfering.interferences.clear()
        await shown(is_ready=True)


async def test_hooks_that_take_longer_than_jobs_do_not_multiply(store: Store, tmp_path: Path) -> None:
    """As many at once as there are slots; the others wait, and jobs go on."""
    hooks = tmp_path / "hooks"
    async with run_worker(store, slots=2) as running:
        for _ in range(8):
            job = await enqueue(store, "endlessly_hooked", {"hooks": str(hooks)})
            await reach(store, job, State.SUCCEEDED)
        await until(lambda: len(written(hooks)) >= 2)
        running.stop()
        running.stop()
    assert len(written(hooks)) == 2


async def test_where_too_many_hooks_wait_more_are_left_out(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are a courtesy, and what waits takes memory."""
    monkeypatch.setattr("tenure.engine.worker.hooks.MOST_WAITING", 1)
    async with run_worker(store) as running:
        params = {"hooks": str(tmp_path / "hooks")}
        await reach(store, await enqueue(store, "endlessly_hooked", params), State.SUCCEEDED)
        job = await enqueue(store, "endlessly_hooked", params)
        left_out = await running.wait_for(HookFailed)
        running.stop()
        running.stop()
    assert (left_out.job, left_out.hook) == (str(job), "on_success")


async def test_a_heartbeat_that_is_stuck_costs_no_lease(store: Store, tmp_path: Path) -> None:
    """S1.22: it is given up in time for another one."""
    interfering = InterferingStore(store)
    stuck = beaten = 0

    def hold_the_first(heartbeat: Verb) -> Verb:
        async def held(pulse: Any) -> Any:
            nonlocal stuck, beaten
            if pulse.leases and not stuck:
                stuck += 1
                await asyncio.Event().wait()
            beaten += bool(pulse.leases)
            return await heartbeat(pulse)

        return held

    interfering.interferences["heartbeat"] = hold_the_first
    async with run_worker(interfering.store, lease=6):
        job = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")})
        await until(lambda: beaten > 1)
        (tmp_path / "end").touch()
        assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


async def test_a_store_that_does_not_answer_keeps_no_worker_that_ends(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a few words left, and then its leases speak for it."""
    monkeypatch.setattr("tenure.engine.worker.worker.FINAL_SECONDS", 0.2)
    interfering = InterferingStore(store)

    def never(_: Verb) -> Verb:
        async def stuck(*_given: Any, **_named: Any) -> Any:
            await asyncio.Event().wait()

        return stuck

    async with run_worker(interfering.store, shutdown=0.1) as running:
        begun = tmp_path / "begun"
        await enqueue(store, "wait", {"begun": str(begun), "end": str(tmp_path / "never")})
        await appear(begun)
        interfering.interferences |= dict.fromkeys(
            ["settle_and_claim", "hand_back", "record", "dismiss"], never
        )
        running.stop()
    [stopped] = running.signals(WorkerStopped)
    assert (stopped.handed_back, stopped.abandoned) == (0, 1)


async def test_an_app_that_can_no_longer_be_imported_costs_no_job_an_attempt(
    store: Store, tmp_path: Path
) -> None:
    """Somebody has deployed a broken module under a running worker: it waits until that is put right."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    async with run_worker(store, target="fragile:app", folder=tmp_path) as running:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        (tmp_path / "broken").touch()
        await reach(store, await enqueue(store, "kill_zygote", policy={"max_attempts": 1}), State.FAILED)
        job = await enqueue(store, "echo", policy={"max_attempts": 1})
        await until(lambda: any("broken module" in one.error for one in running.signals(Troubled)))
        assert not running.worker.is_ready
        (tmp_path / "broken").unlink()
        assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


FRAGILE = f"""
import sys
from pathlib import Path

sys.path.append({str(ROOT)!r})
if Path(__file__).with_name("broken").exists():
    raise RuntimeError("broken module")
from tests.worker.engine_app import app
"""
