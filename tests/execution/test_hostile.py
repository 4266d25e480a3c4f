"""Handlers that break the rules: each breaks its own attempt, by a name, and nothing else."""

import asyncio
import gc
import signal
import struct
import tracemalloc
from pathlib import Path

import pytest

from tenure.core.model.retry import AttemptEnd, Crashed, OutOfMemory, Raised, Returned
from tenure.core.model.trail import Usage
from tenure.execution.parent import output, patience
from tenure.execution.parent.attempt_terms import Interrupted, StopReason, StopRequest, Unstarted
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.assignment import ResourceLimits
from tests.execution.attempts import BOUND, Recorder, is_alive, run
from tests.execution.parent.test_stopping import pids
from tests.until import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


def kind(end: AttemptEnd | Unstarted | Interrupted | None) -> str:
    assert isinstance(end, Crashed | Raised)
    return end.error.kind


@pytest.fixture(autouse=True)
def short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "LINGER", 0.2)


@pytest.fixture
def unhurried(short_linger: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For attempts that end by themselves, and are not to be killed because the machine is slow."""
    monkeypatch.setattr(patience, "LINGER", BOUND)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("code", [0, 3])
async def test_exiting_without_a_result_is_a_crash(hostile: ProcessLane, code: int) -> None:
    ended = await run(hostile, "exits_silently", code)
    assert kind(ended.end) == "ExitedWithoutResult"
    assert (ended.usage.exit_code, ended.usage.signal) == (code, None)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
async def test_a_signal_is_named(hostile: ProcessLane, number: signal.Signals) -> None:
    ended = await run(hostile, "kills_itself", int(number))
    assert isinstance(ended.end, Crashed)
    assert ended.end.error.kind == "KilledBySignal"
    assert number.name in ended.end.error.message
    assert (ended.usage.exit_code, ended.usage.signal) == (None, number)


async def test_a_crash_leaves_its_traceback_in_the_log(hostile: ProcessLane) -> None:
    recorder = Recorder()
    await run(hostile, "kills_itself", int(signal.SIGSEGV), recorder=recorder)
    assert any("in kills_itself" in text for text in recorder.texts("stderr"))


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">I", 2**32 - 1).hex(),
        (struct.pack(">I", 5) + b"hello").hex(),
        (struct.pack(">I", 1) + b"\xc1").hex(),
        (struct.pack(">I", 0)).hex(),
        (struct.pack(">I", 4) + b"\x91\x91\x91\x91").hex(),
        (b"x" * 100_000).hex(),
    ],
)
async def test_garbage_on_the_pipe_ends_the_attempt(hostile: ProcessLane, sent: str) -> None:
    ended = await run(hostile, "writes_garbage", sent)
    assert kind(ended.end) == "GarbageOnPipe"
    assert ended.usage.signal == signal.SIGKILL


async def test_closing_the_pipe_ends_the_attempt(hostile: ProcessLane) -> None:
    ended = await run(hostile, "closes_its_pipe")
    assert kind(ended.end) == "PipeClosed"


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("nan", "ResultNotJson"),
        ("object", "ResultNotJson"),
        ("bytes", "ResultNotJson"),
        ("deep", "ResultNotJson"),
        ("nul", "ResultNotJson"),
        ("huge", "ResultTooLarge"),
    ],
)
async def test_a_result_that_cannot_be_kept_is_named(hostile: ProcessLane, what: str, name: str) -> None:
    end = (await run(hostile, "returns_badly", what)).end
    assert isinstance(end, Raised)
    assert (end.error.kind, end.lineage) == (name, (name,))


@pytest.mark.parametrize("result", ["NaN", '{"a":1,"a":2}', "", "[" * 100])
async def test_a_result_is_checked_again_where_it_arrives(hostile: ProcessLane, result: str) -> None:
    ended = await run(hostile, "sends_result", result)
    assert kind(ended.end) == "ResultNotJson"


async def test_a_process_that_has_reported_may_not_stay(hostile: ProcessLane) -> None:
    ended = await run(hostile, "sends_result", "7")
    assert ended.end == Returned("7")  # type: ignore[arg-type]
    assert ended.usage.signal == signal.SIGKILL


async def test_only_the_process_that_was_asked_reports(hostile: ProcessLane) -> None:
    assert (await run(hostile, "returns_twice")).end == Returned('"parent"')  # type: ignore[arg-type]


@pytest.mark.usefixtures("unhurried")
async def test_too_much_memory_is_refused_and_named(hostile: ProcessLane) -> None:
    """S1.19: by a limit of its own process."""
    ended = await run(hostile, "allocates", 2 << 30, limits=ResourceLimits(memory=256 << 20))
    assert ended.end == OutOfMemory()
    assert ended.usage.exit_code == 0
    assert ended.usage.peak_memory < 512 << 20


@pytest.mark.usefixtures("unhurried")
async def test_who_has_no_memory_left_can_still_say_so(hostile: ProcessLane) -> None:
    ended = await run(hostile, "takes_the_last_byte", limits=ResourceLimits(memory=128 << 20))
    assert ended.end == OutOfMemory()
    assert ended.usage.exit_code == 0


async def test_within_the_limit_memory_is_granted(hostile: ProcessLane) -> None:
    ended = await run(hostile, "allocates", 100 << 20, limits=ResourceLimits(memory=256 << 20))
    assert ended.end == Returned("7")  # type: ignore[arg-type]


async def test_too_much_cpu_is_named(hostile: ProcessLane) -> None:
    ended = await run(hostile, "spins", limits=ResourceLimits(cpu=1))
    assert isinstance(ended.end, Crashed)
    assert "SIGXCPU" in ended.end.error.message
    assert "CPU time" in ended.end.error.message
    assert ended.usage.cpu.total_seconds() > 0.5


async def test_output_without_a_newline_is_one_line_and_memory_stays_flat(hostile: ProcessLane) -> None:
    recorder = Recorder()
    gc.collect()
    tracemalloc.start()
    try:
        await run(hostile, "floods", 64 << 20, recorder=recorder)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    [line] = recorder.lines
    assert line.text == "x" * output.LONGEST_LINE + output.CUT
    assert peak < 4 << 20


async def test_too_many_lines_are_cut_with_a_mark(hostile: ProcessLane) -> None:
    recorder = Recorder()
    ended = await run(hostile, "floods_lines", output.MOST_LINES * 3, recorder=recorder)
    assert isinstance(ended.end, Returned)
    assert recorder.texts("stdout") == [str(n) for n in range(output.MOST_LINES)]
    assert [line.level for line in recorder.lines[output.MOST_LINES :]] == ["warning"]
    assert output.CUT in recorder.lines[-1].text


async def test_control_characters_are_written_out(hostile: ProcessLane) -> None:
    recorder = Recorder()
    await run(hostile, "prints_binary", recorder=recorder)
    assert recorder.texts("stdout") == ["\ufffd\\x00\\x1b[2Jred", "next\ufffd\\u2028end"]


async def test_who_kills_the_zygote_leaves_nobody_and_it_is_replaced(
    hostile: ProcessLane, tmp_path: Path
) -> None:
    ledger = tmp_path / "on"
    ended = await run(hostile, "kills_its_parent", str(ledger))
    assert kind(ended.end) == "ZygoteDied"
    assert ended.usage == Usage()
    assert len(pids(ledger)) == 2
    assert not any(map(is_alive, pids(ledger)))
    assert (await run(hostile, "returns", 1)).end == Returned("1")  # type: ignore[arg-type]


async def test_a_zygote_that_does_not_answer_is_replaced(
    hostile: ProcessLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PATIENCE", 0.5)
    ledger, stop = tmp_path / "on", StopRequest()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(hostile, "stops_its_parent", str(ledger), grace=1, stop=stop))
        await until(ledger.exists)
        stop.ask(StopReason.CANCELLED)
    assert running.result().end is not None
    await until(lambda: not any(map(is_alive, pids(ledger))))
    assert (await run(hostile, "returns", 1)).end == Returned("1")  # type: ignore[arg-type]
