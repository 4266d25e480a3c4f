"""A worker in the middle of other people's troubles: it goes on, and it comes to its end."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.lease import Line, Order
from tenure.core.signals import AttemptSettled, HookFailed, Signal, Troubled, WorkerDraining, WorkerStopped
from tenure.core.states import State
from tenure.storage.contract import Store
from tests.worker.employing import PATIENCE, ROOT, appear, employ, enqueue, reach, until, written
from tests.worker.meddling import Meddled

Verb = Callable[..., Awaitable[Any]]


async def test_jobs_that_a_duty_has_ended_cannot_be_looked_at_and_the_worker_goes_on(store: Store) -> None:
    """Hooks are a courtesy, for whose sake no worker ends."""
    ended = await enqueue(store, "hooked", policy={"max_attempts": 1})
    line = Line("default", "hooked")
    await store.settle_and_claim(
        [], Order(worker="ghost", lines=(line,), limit=1, lease_for=timedelta(seconds=1))
    )
    meddled = Meddled(store)
    asked = asyncio.Event()

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            asked.set()
            raise StoreUnavailable("away for a moment")

        return failed

    meddled.interferences["get"] = fail
    async with employ(meddled.seen) as employed:
        await reach(store, ended, State.FAILED)
        await asked.wait()
        job = await enqueue(store, "echo")
        await reach(store, job, State.SUCCEEDED)
        assert (await employed.hears(HookFailed)).job == str(ended)


async def test_who_hears_signals_badly_harms_no_worker(store: Store) -> None:
    """Standard error may be a pipe that nobody reads any more."""

    class Broken(list[Signal]):
        def append(self, signal: Signal) -> None:
            super().append(signal)
            raise BrokenPipeError

    async with employ(store, heard=Broken()) as employed:
        for _ in range(2):
            job = await enqueue(store, "echo")
            await reach(store, job, State.SUCCEEDED)
    assert len(employed.told(AttemptSettled)) == 2


async def test_what_was_being_claimed_when_the_worker_was_told_to_stop_is_given_back(store: Store) -> None:
    """Not started, not charged, and not left to its lease."""
    meddled = Meddled(store)
    claimed, told = asyncio.Event(), asyncio.Event()

    def hold(claim: Verb) -> Verb:
        async def held(*given: Any) -> Any:
            answer = await claim(*given)
            if answer.claimed:
                claimed.set()
                await told.wait()
            return answer

        return held

    meddled.interferences["settle_and_claim"] = hold
    async with employ(meddled.seen) as employed:
        job = await enqueue(store, "echo")
        await claimed.wait()
        employed.stop()
        await employed.hears(WorkerDraining)
        told.set()
    returned = await reach(store, job, State.QUEUED)
    assert (returned.attempt, returned.hand_backs) == (0, 1)
    [stopped] = employed.told(WorkerStopped)
    assert (stopped.handed_back, stopped.abandoned) == (1, 0)


async def test_what_was_claimed_by_a_question_that_took_too_long_is_given_back(store: Store) -> None:
    """It would be halted before it began: that costs no attempt, and nobody waits for its lease's end."""
    meddled = Meddled(store)
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

    meddled.interferences["settle_and_claim"] = delay
    job = await enqueue(store, "echo")
    async with employ(meddled.seen, lease=lease):
        done = await reach(store, job, State.SUCCEEDED)
    assert done.attempt == 1
    assert done.hand_backs >= 1  # a machine with much else to do may hold up the next one, too


async def test_an_outcome_that_comes_last_keeps_no_worker_waiting_for_its_hook(
    store: Store, tmp_path: Path
) -> None:
    """At the deadline hooks are over too, those included that would begin only then."""
    meddled = Meddled(store)
    settling, forced = asyncio.Event(), asyncio.Event()

    def hold(settle: Verb) -> Verb:
        async def held(reports: Any, order: Any) -> Any:
            if reports:
                settling.set()
                await forced.wait()
            return await settle(reports, order)

        return held

    meddled.interferences["settle_and_claim"] = hold
    async with employ(meddled.seen) as employed:
        job = await enqueue(store, "endlessly_hooked", {"hooks": str(tmp_path / "hooks")})
        await settling.wait()
        employed.stop()
        employed.stop()
        await employed.hears(WorkerDraining)
        asyncio.get_running_loop().call_soon(forced.set)
    await reach(store, job, State.SUCCEEDED)
    assert not written(tmp_path / "hooks")


async def test_one_signal_after_an_operators_wish_is_no_second_signal(store: Store, tmp_path: Path) -> None:
    """What runs comes to its end, whoever asked first."""
    begun, end = tmp_path / "begun", tmp_path / "end"
    async with employ(store, lease=6) as employed:
        job = await enqueue(store, "wait", {"begun": str(begun), "end": str(end)})
        await appear(begun)
        [worker] = await store.workers()
        await store.drain(worker.worker.id)
        await employed.hears(WorkerDraining)
        employed.stop()
        end.touch()
    assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


async def test_timers_that_others_hold_keep_nobody_busy_and_no_lease_from_being_reaped(store: Store) -> None:
    """Each duty is done, whatever becomes of the other; what cannot be done now is not tried at once."""
    meddled = Meddled(store)
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

    meddled.interferences |= {"promote": leave_out, "outlook": count}
    await enqueue(store, "echo", delay=timedelta(milliseconds=1))
    lost = await enqueue(store, "echo", queue="elsewhere", policy={"max_attempts": 1})
    order = Order(worker="ghost", lines=(Line("elsewhere", "echo"),), limit=1, lease_for=timedelta(seconds=1))
    await store.settle_and_claim([], order)
    async with employ(meddled.seen):
        await reach(store, lost, State.FAILED)
        assert looks < 100


async def test_a_worker_that_cannot_claim_is_not_ready(store: Store) -> None:
    """Ready is whose claim loop goes well, and not whose loop is tried in vain."""
    meddled = Meddled(store)

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            raise StoreUnavailable("away")

        return failed

    async with employ(meddled.seen) as employed:
        job = await enqueue(store, "echo")
        await reach(store, job, State.SUCCEEDED)
        assert employed.worker.is_ready
        meddled.interferences["settle_and_claim"] = fail
        job = await enqueue(store, "echo")
        await until(lambda: not employed.worker.is_ready)
        meddled.interferences.clear()
        await reach(store, job, State.SUCCEEDED)
        assert employed.worker.is_ready


async def test_whether_a_worker_is_ready_is_seen_from_outside(store: Store) -> None:
    """In the worker's row, as of its last heartbeat."""
    meddled = Meddled(store)

    def fail(_: Verb) -> Verb:
        async def failed(*_given: Any) -> Any:
            raise StoreUnavailable("away")

        return failed

    async def shown(is_ready: bool) -> None:
        async with asyncio.timeout(PATIENCE):
            while [one.is_ready for one in await store.workers()] != [is_ready]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async with employ(meddled.seen, lease=6):
        await shown(is_ready=True)
        meddled.interferences["settle_and_claim"] = fail
        await enqueue(store, "echo")
        await shown(is_ready=False)
        meddled.interferences.clear()
        await shown(is_ready=True)


async def test_hooks_that_take_longer_than_jobs_do_not_multiply(store: Store, tmp_path: Path) -> None:
    """As many at once as there are slots; the others wait, and jobs go on."""
    hooks = tmp_path / "hooks"
    async with employ(store, slots=2) as employed:
        for _ in range(8):
            job = await enqueue(store, "endlessly_hooked", {"hooks": str(hooks)})
            await reach(store, job, State.SUCCEEDED)
        await until(lambda: len(written(hooks)) >= 2)
        employed.stop()
        employed.stop()
    assert len(written(hooks)) == 2


async def test_where_too_many_hooks_wait_more_are_left_out(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are a courtesy, and what waits takes memory."""
    monkeypatch.setattr("tenure.engine.hooks.MOST_WAITING", 1)
    async with employ(store) as employed:
        params = {"hooks": str(tmp_path / "hooks")}
        await reach(store, await enqueue(store, "endlessly_hooked", params), State.SUCCEEDED)
        job = await enqueue(store, "endlessly_hooked", params)
        left_out = await employed.hears(HookFailed)
        employed.stop()
        employed.stop()
    assert (left_out.job, left_out.hook) == (str(job), "on_success")


async def test_a_heartbeat_that_is_stuck_costs_no_lease(store: Store, tmp_path: Path) -> None:
    """S1.22: it is given up in time for another one."""
    meddled = Meddled(store)
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

    meddled.interferences["heartbeat"] = hold_the_first
    async with employ(meddled.seen, lease=6):
        job = await enqueue(store, "wait", {"begun": str(tmp_path / "begun"), "end": str(tmp_path / "end")})
        await until(lambda: beaten > 1)
        (tmp_path / "end").touch()
        assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


async def test_a_store_that_does_not_answer_keeps_no_worker_that_ends(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a few words left, and then its leases speak for it."""
    monkeypatch.setattr("tenure.engine.worker.LAST_WORDS", 0.2)
    meddled = Meddled(store)

    def never(_: Verb) -> Verb:
        async def stuck(*_given: Any, **_named: Any) -> Any:
            await asyncio.Event().wait()

        return stuck

    async with employ(meddled.seen, shutdown=0.1) as employed:
        begun = tmp_path / "begun"
        await enqueue(store, "wait", {"begun": str(begun), "end": str(tmp_path / "never")})
        await appear(begun)
        meddled.interferences |= dict.fromkeys(["settle_and_claim", "hand_back", "record", "dismiss"], never)
        employed.stop()
    [stopped] = employed.told(WorkerStopped)
    assert (stopped.handed_back, stopped.abandoned) == (0, 1)


async def test_an_app_that_can_no_longer_be_imported_costs_no_job_an_attempt(
    store: Store, tmp_path: Path
) -> None:
    """Somebody has deployed a broken module under a running worker: it waits until that is put right."""
    (tmp_path / "fragile.py").write_text(FRAGILE)
    async with employ(store, target="fragile:app", folder=tmp_path) as employed:
        await reach(store, await enqueue(store, "echo"), State.SUCCEEDED)
        (tmp_path / "broken").touch()
        await reach(store, await enqueue(store, "kill_zygote", policy={"max_attempts": 1}), State.FAILED)
        job = await enqueue(store, "echo", policy={"max_attempts": 1})
        await until(lambda: any("broken module" in one.error for one in employed.told(Troubled)))
        assert not employed.worker.is_ready
        (tmp_path / "broken").unlink()
        assert (await reach(store, job, State.SUCCEEDED)).attempt == 1


FRAGILE = f"""
import sys
from pathlib import Path

sys.path.append({str(ROOT)!r})
if Path(__file__).with_name("broken").exists():
    raise RuntimeError("broken module")
from tests.worker.sample import app
"""
