"""Stopping an attempt: asked first, killed after its grace, with every process it has started."""

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tenure.core.model.retry import FatalAsked, Raised, Returned, TimedOut, WasStopped
from tenure.execution.parent import patience
from tenure.execution.parent.attempt_terms import Ended, StopReason, StopRequest
from tenure.execution.parent.process_lane import ProcessLane
from tests.execution.attempts import BOUND, Recorder, is_alive, run
from tests.until import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOON = 0.05
SHORT = 2.0
"""Seconds; what comes five times later comes afterwards, on a busy machine too."""


def pids(ledger: Path) -> list[int]:
    return [int(line) for line in ledger.read_text().split()] if ledger.exists() else []


async def stopped(
    lane: ProcessLane,
    definition: str,
    ledger: Path,
    reason: StopReason,
    *,
    grace: float = BOUND,
    present: int = 0,
    recorder: Recorder | None = None,
) -> Ended:
    """Run an attempt and stop it once its ledger is there, with so many processes in it."""
    stop = StopRequest()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            run(lane, definition, str(ledger), grace=grace, stop=stop, recorder=recorder)
        )
        await until(lambda: ledger.exists() and len(pids(ledger)) >= present)
        stop.ask(reason)
    return running.result()


async def test_the_task_of_an_async_handler_is_cancelled(lane: ProcessLane, tmp_path: Path) -> None:
    """Asked first, and there is time to clean up."""
    recorder = Recorder()
    ended = await stopped(
        lane, "stops_when_cancelled", tmp_path / "on", StopReason.CANCELLED, recorder=recorder
    )
    assert ended.end == WasStopped()
    assert recorder.texts("info") == ["cleaned up"]


async def test_an_async_handler_may_see_it_and_still_return(lane: ProcessLane, tmp_path: Path) -> None:
    """S1.57: the context tells it."""
    ended = await stopped(lane, "waits_for_cancel", tmp_path / "on", StopReason.CANCELLED)
    assert ended.end == Returned('"told"')  # type: ignore[arg-type]


@pytest.mark.parametrize("definition", ["stops_plainly", "stops_at_a_glance"])
async def test_a_plain_handler_sees_it_and_is_not_interrupted(
    lane: ProcessLane, definition: str, tmp_path: Path
) -> None:
    """S1.57: by asking whether it is set, or by `while not ctx.cancelled` as is most often written."""
    ended = await stopped(lane, definition, tmp_path / "on", StopReason.CANCELLED)
    assert ended.end == Returned('"stopped by itself"')  # type: ignore[arg-type]


async def test_the_signal_alone_is_enough(lane: ProcessLane, tmp_path: Path) -> None:
    """As where another process than the worker sends it: the job is not cancelled then."""
    async with asyncio.TaskGroup() as group:
        plain, later = tmp_path / "plain", tmp_path / "later"
        stopping = group.create_task(run(lane, "stops_plainly", str(plain)))
        cancelling = group.create_task(run(lane, "stops_when_cancelled", str(later)))
        for ledger in (plain, later):
            await until(partial(pids, ledger))
            os.kill(pids(ledger)[0], signal.SIGTERM)
    assert stopping.result().end == Returned('"stopped by itself"')  # type: ignore[arg-type]
    end = cancelling.result().end
    assert isinstance(end, Raised)
    assert end.error.kind == "asyncio.exceptions.CancelledError"


async def test_a_plain_handler_may_wait_for_it_and_let_it_raise(lane: ProcessLane, tmp_path: Path) -> None:
    ended = await stopped(lane, "blocks_until_cancelled", tmp_path / "on", StopReason.CANCELLED)
    assert ended.end == WasStopped()
    assert ended.usage.exit_code == 0


async def test_what_a_handler_runs_is_told_too(lane: ProcessLane, tmp_path: Path) -> None:
    """S1.20: by the signal that every program knows."""
    ended = await stopped(lane, "runs_a_program", tmp_path / "on", StopReason.CANCELLED)
    assert ended.end == Returned("-15")  # type: ignore[arg-type]


async def test_a_fatal_error_counts_while_it_is_cancelled(lane: ProcessLane, tmp_path: Path) -> None:
    end = (await stopped(lane, "gives_up_when_cancelled", tmp_path / "on", StopReason.CANCELLED)).end
    assert isinstance(end, Raised)
    assert end.asked == FatalAsked()


@pytest.mark.parametrize(
    ("reason", "end"),
    [(StopReason.CANCELLED, WasStopped()), (StopReason.LOST, None), (StopReason.SHUTDOWN, None)],
)
async def test_what_is_stopped_before_it_starts_does_not_start(
    lane: ProcessLane, reason: StopReason, end: object, tmp_path: Path
) -> None:
    stop = StopRequest()
    stop.ask(reason)
    ended = await run(lane, "stops_plainly", str(tmp_path / "on"), stop=stop)
    assert ended.end == end
    assert not (tmp_path / "on").exists()


async def test_who_ignores_it_is_killed_after_the_grace(hostile: ProcessLane, tmp_path: Path) -> None:
    """S1.71, S1.21: the grace, then the kill."""
    ended = await stopped(
        hostile, "ignores_sigterm", tmp_path / "on", StopReason.CANCELLED, grace=SOON, present=1
    )
    assert ended.end == WasStopped()
    assert ended.usage.signal == 9


async def test_the_grace_is_as_long_as_was_said(
    lane: ProcessLane, hostile: ProcessLane, tmp_path: Path
) -> None:
    """S1.71: one that ignores the signal is killed long before another has met its time limit, not after."""
    async with asyncio.TaskGroup() as group:
        beside = group.create_task(run(lane, "stops_plainly", str(tmp_path / "beside"), timeout=5 * SHORT))
        await until(partial(pids, tmp_path / "beside"))
        ended = await stopped(
            hostile, "ignores_sigterm", tmp_path / "on", StopReason.CANCELLED, grace=SHORT, present=1
        )
        assert ended.end == WasStopped()
        assert not beside.done()
        os.kill(pids(tmp_path / "beside")[0], signal.SIGTERM)
    assert beside.result().end == Returned('"stopped by itself"')  # type: ignore[arg-type]


async def test_the_grace_is_not_cut_short(lane: ProcessLane, hostile: ProcessLane, tmp_path: Path) -> None:
    """S1.71: another that meets its time limit meanwhile is over first."""
    async with asyncio.TaskGroup() as group:
        begun = group.create_task(
            stopped(
                hostile, "ignores_sigterm", tmp_path / "on", StopReason.CANCELLED, grace=5 * SHORT, present=1
            )
        )
        beside = await run(lane, "stops_plainly", str(tmp_path / "beside"), timeout=SHORT)
        assert isinstance(beside.end, TimedOut)
        assert not begun.done()
    assert begun.result().end == WasStopped()


async def test_the_time_limit_ends_an_attempt_the_same_way(hostile: ProcessLane, tmp_path: Path) -> None:
    """An attempt that takes too long is over."""
    ledger = tmp_path / "on"
    ended = await run(hostile, "ignores_sigterm", str(ledger), timeout=1, grace=SOON)
    assert isinstance(ended.end, TimedOut)
    assert ended.end.after.total_seconds() == 1
    assert not any(map(is_alive, pids(ledger)))


async def test_one_that_stops_at_the_time_limit_has_timed_out(lane: ProcessLane, tmp_path: Path) -> None:
    ended = await run(lane, "stops_plainly", str(tmp_path / "on"), timeout=1)
    assert isinstance(ended.end, TimedOut)
    assert ended.usage.exit_code == 0


async def test_a_stopped_process_is_killed_too(hostile: ProcessLane, tmp_path: Path) -> None:
    ended = await stopped(
        hostile, "stops_itself", tmp_path / "on", StopReason.CANCELLED, grace=SOON, present=1
    )
    assert ended.end == WasStopped()
    assert not any(map(is_alive, pids(tmp_path / "on")))


@pytest.mark.parametrize("reason", [StopReason.LOST, StopReason.SHUTDOWN])
async def test_one_whose_outcome_nobody_wants_is_killed_at_once(
    hostile: ProcessLane, tmp_path: Path, reason: StopReason
) -> None:
    ledger = tmp_path / "on"
    ended = await stopped(hostile, "has_a_family", ledger, reason, present=4)
    assert ended.end is None
    assert ended.usage.signal == 9
    assert not any(map(is_alive, pids(ledger)))


async def test_a_result_that_was_reported_counts_though_the_worker_is_stopped(
    hostile: ProcessLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "LINGER", BOUND)  # so that it still lives when it is stopped
    ended = await stopped(hostile, "reports_and_stays", tmp_path / "on", StopReason.SHUTDOWN, present=1)
    assert ended.end == Returned('"done"')  # type: ignore[arg-type]
    assert ended.usage.signal == signal.SIGKILL


async def test_the_lease_may_be_lost_during_the_grace(hostile: ProcessLane, tmp_path: Path) -> None:
    ledger, stop = tmp_path / "on", StopRequest()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(hostile, "ignores_sigterm", str(ledger), stop=stop))
        await until(lambda: pids(ledger))
        stop.ask(StopReason.CANCELLED)
        await asyncio.sleep(0)
        stop.ask(StopReason.LOST)
        stop.ask(StopReason.CANCELLED)
    assert running.result().end is None


async def test_the_whole_family_is_killed(hostile: ProcessLane, tmp_path: Path) -> None:
    """Also processes that left the group or became daemons, and before `run` returns."""
    ledger = tmp_path / "on"
    ended = await stopped(hostile, "has_a_family", ledger, StopReason.CANCELLED, grace=SOON, present=4)
    assert ended.end == WasStopped()
    assert len(set(pids(ledger))) == 4
    assert not any(map(is_alive, pids(ledger)))


async def test_a_family_of_hundreds_is_killed(hostile: ProcessLane, tmp_path: Path) -> None:
    ledger = tmp_path / "on"
    ended = await stopped(hostile, "forks_without_end", ledger, StopReason.LOST, present=301)
    assert ended.end is None
    assert not any(map(is_alive, pids(ledger)))


async def test_the_daemons_of_another_attempt_are_left_alone(hostile: ProcessLane, tmp_path: Path) -> None:
    mine, others = tmp_path / "mine", tmp_path / "others"
    stop = StopRequest()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(hostile, "daemonises_and_hangs", str(others), stop=stop))
        await until(lambda: len(pids(others)) == 2)
        assert isinstance((await run(hostile, "daemonises", str(mine))).end, Returned)
        assert not any(map(is_alive, pids(mine)))
        assert all(map(is_alive, pids(others)))
        stop.ask(StopReason.LOST)
    assert running.result().end is None
    assert not any(map(is_alive, pids(others)))


async def test_cancelling_the_call_kills_the_attempt(hostile: ProcessLane, tmp_path: Path) -> None:
    ledger = tmp_path / "on"
    running = asyncio.create_task(run(hostile, "has_a_family", str(ledger)))
    await until(lambda: len(pids(ledger)) == 4)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(map(is_alive, pids(ledger)))
