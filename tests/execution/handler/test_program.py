"""Programs as handlers: what they are given, what they say, how they end, and that they end."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tenure.core.errors import ProgramFailed
from tenure.core.model.retry import FatalAsked, Raised, Returned, TimedOut, WasStopped
from tenure.execution.handler.program import Program
from tenure.execution.parent.attempt_terms import Ended, StopReason, StopRequest
from tenure.execution.parent.output import LONGEST_LINE, MOST_LINES
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.assignment import ResourceLimits
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import JOB, Recorder, environment, is_alive, opened, run
from tests.storage.faults.disks import mode, rights_that_count
from tests.until import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

LARGE = {"text": "x" * 200_000}
"""More than a pipe holds."""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that a program may wait for."""
    return tmp_path_factory.mktemp("gate") / "open"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lane(gate: Path) -> AsyncIterator[ProcessLane]:
    """One whose handlers are programs, and whose worker is configured to give them the database's address."""
    variables = {"TENURE_DATABASE": "sqlite:///secret.db", "GATE": str(gate)}
    given = environment(**variables)
    async with opened(
        "tests.execution.program_app:app", environment=ChildEnvironment(given, ("TENURE_DATABASE", "GATE"))
    ) as lane:
        yield lane


async def result(lane: ProcessLane, definition: str, params: object = None, **asked: Any) -> Any:
    """What a program that succeeds answers with."""
    end = (await run(lane, definition, params or {}, **asked)).end
    assert isinstance(end, Returned), end
    return json.loads(end.result)


async def failure(lane: ProcessLane, definition: str, **asked: Any) -> Raised:
    """How a program failed."""
    end = (await run(lane, definition, {}, **asked)).end
    assert isinstance(end, Raised), end
    assert end.error.traceback is None
    return end


async def test_params_are_json_on_standard_input_and_the_result_is_json_on_standard_output(
    lane: ProcessLane,
) -> None:
    """S1.18: a program in any language, by an interface that all of them have."""
    assert await result(lane, "cat", {"a": [1, None, "ü"]}) == {"a": [1, None, "ü"]}
    assert await result(lane, "asks", {"one": "line"}) == {"one": "line"}


async def test_a_type_fills_in_what_the_caller_left_out(lane: ProcessLane) -> None:
    assert await result(lane, "typed", {"name": "Nosferatu"}) == {"name": "Nosferatu", "frames": 24}


async def test_no_shell_looks_at_the_arguments(lane: ProcessLane) -> None:
    assert await result(lane, "arguments") == ["a b", "$HOME"]


async def test_a_program_is_told_its_attempt_and_nothing_of_the_database(lane: ProcessLane) -> None:
    """Nor where the worker, the definition and the module itself would give it away."""
    limits = ResourceLimits(environment=("TENURE_DATABASE",))
    seen = await result(lane, "environment", attempt=2, fence=7, limits=limits)
    assert (seen["TENURE_JOB_ID"], seen["TENURE_DEFINITION"]) == (str(JOB), "environment@1")
    assert (seen["TENURE_ATTEMPT"], seen["TENURE_FENCE"]) == ("2", "7")
    assert Path(seen["TENURE_RESULT"]).parent == Path(seen["TMPDIR"])
    assert "TENURE_DATABASE" not in seen
    assert "secret" not in json.dumps(seen)


async def test_a_program_may_use_tenure_itself(lane: ProcessLane) -> None:
    assert await result(lane, "uses.tenure") == 0


async def test_signals_mean_to_a_program_what_they_usually_do(lane: ProcessLane) -> None:
    """None of these is blocked or ignored, though Python ignores some, and a zygote blocks some."""
    usual = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
    blocked, ignored = (int(mask, 16) for mask in await result(lane, "signals"))
    assert [number for number in usual if (blocked | ignored) >> (number - 1) & 1] == []


async def test_what_is_not_the_result_is_the_log(lane: ProcessLane) -> None:
    """JSON that another one has followed is a line like any other."""
    recorder = Recorder()
    assert await result(lane, "speaks", recorder=recorder) == {"n": 2}
    assert sorted(recorder.texts("stdout")) == ["one", "three", "two", '{"n": 1}']
    assert recorder.texts("stderr") == ["four"]


async def test_lines_are_heard_while_the_program_runs(lane: ProcessLane, gate: Path) -> None:
    recorder = Recorder()
    running = asyncio.create_task(run(lane, "waits", {}, recorder=recorder))
    await until(lambda: recorder.texts("stdout") == ["ready"] and recorder.texts("stderr") == ["is"])
    assert not running.done()
    gate.touch()  # noqa: ASYNC240
    assert (await running).end == Returned("1")  # type: ignore[arg-type]


async def test_a_file_that_was_written_is_the_result_and_what_was_printed_is_not(lane: ProcessLane) -> None:
    recorder = Recorder()
    assert await result(lane, "file", recorder=recorder) == {"by": "file"}
    assert recorder.texts("stdout") == ['{"by": "stdout"}']
    assert (await failure(lane, "file.fails")).error.kind == "ExitCode1"


@pytest.mark.parametrize(
    ("definition", "kind"),
    [
        ("file.empty", "ResultNotJson"),
        ("file.folder", "ResultNotJson"),
        ("file.pipe", "ResultNotJson"),
        ("file.large", "ResultTooLarge"),
        ("not.a.number", "ResultNotJson"),
        ("large.result", "ResultTooLarge"),
    ],
)
async def test_a_result_that_cannot_be_taken_is_a_failure(
    lane: ProcessLane, definition: str, kind: str
) -> None:
    failed = await failure(lane, definition)
    assert failed.lineage[:2] == (kind, "ProgramFailed")


@pytest.mark.parametrize("definition", ["silent", "chatty"])
async def test_a_program_that_succeeds_without_json_has_no_result(lane: ProcessLane, definition: str) -> None:
    assert await result(lane, definition) is None


async def test_the_exit_code_names_the_failure_and_the_last_words_explain_it(lane: ProcessLane) -> None:
    """Its kind can stand in `retry_on` and `fatal_on`. What it printed is no result, and is not lost."""
    recorder = Recorder()
    failed = await failure(lane, "code", recorder=recorder)
    assert failed.lineage[:2] == ("ExitCode75", "ProgramFailed")
    assert failed.error.message == "sh exited with code 75; the last it said: it is broken"
    assert failed.asked is None
    assert recorder.texts("stdout") == ['{"code": 1}']
    assert recorder.texts("stderr") == ["to begin with", "it is broken"]


async def test_a_fatal_code_asks_for_no_other_attempt(lane: ProcessLane) -> None:
    failed = await failure(lane, "fatal")
    assert (failed.error.kind, failed.asked) == ("ExitCode3", FatalAsked())


async def test_a_program_that_is_killed_by_a_signal_says_by_which(lane: ProcessLane) -> None:
    failed = await failure(lane, "killed")
    assert failed.lineage[:3] == ("SIGSEGV", "KilledBySignal", "ProgramFailed")


@pytest.mark.parametrize(
    ("definition", "kind", "words"),
    [
        ("missing", "ProgramNotFound", "no-such-program cannot be run: not found"),
        ("missing.path", "ProgramNotFound", "/nowhere/program cannot be run: not found"),
        ("folder", "ProgramNotExecutable", "no executable file"),
        ("plain.text", "ProgramNotExecutable", "no executable file"),
    ],
)
async def test_a_program_that_cannot_be_run_says_why(
    lane: ProcessLane, definition: str, kind: str, words: str
) -> None:
    failed = await failure(lane, definition)
    assert failed.error.kind == kind
    assert words in failed.error.message


@pytest.mark.parametrize(
    ("is_there", "kind"), [(False, "ProgramNotFound"), (True, "ProgramNotExecutable")], ids=["lost", "locked"]
)
async def test_a_folder_on_path_that_the_user_may_not_read_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool, kind: str
) -> None:
    """The kernel speaks of missing rights wherever it may not look; they count where there is a file."""
    (closed := tmp_path / "closed").mkdir()
    (plain := tmp_path / "plain").mkdir()
    if is_there:
        (plain / "no-such-program").touch(0o600)
    monkeypatch.setenv("PATH", f"{closed}:{plain}")
    with (
        rights_that_count(),
        mode(closed, 0),
        pytest.raises(ProgramFailed, match="no-such-program cannot") as failed,
    ):
        Program(["no-such-program"]).run()
    assert failed.value.kinds[0] == kind


@pytest.mark.parametrize(("definition", "answer"), [("early", 1), ("ignores", 2)])
async def test_params_that_nobody_reads_keep_nobody_waiting(
    lane: ProcessLane, definition: str, answer: int
) -> None:
    assert await result(lane, definition, LARGE) == answer


async def test_a_huge_line_is_cut_and_keeps_nobody_from_the_result(lane: ProcessLane) -> None:
    recorder = Recorder()
    assert await result(lane, "large.line", recorder=recorder) == 1
    [line] = recorder.texts("stdout")
    assert line == "x" * LONGEST_LINE + "…"


async def test_output_without_end_is_capped_and_the_program_ends_at_its_timeout(lane: ProcessLane) -> None:
    recorder = Recorder()
    ended = await run(lane, "endless", {}, timeout=1, grace=0, recorder=recorder)
    assert ended.end == TimedOut(timedelta(seconds=1))
    assert len(recorder.lines) <= MOST_LINES + 1
    assert "the rest is dropped" in recorder.texts("warning")[0]


async def test_whoever_a_program_leaves_behind_is_ended_and_not_waited_for(lane: ProcessLane) -> None:
    """A daemon in a session of its own that holds the pipes open."""
    left = await result(lane, "daemon")
    assert not is_alive(left["pid"])


async def _stopped(lane: ProcessLane, definition: str, recorder: Recorder, grace: float) -> Ended:
    stop = StopRequest()
    running = asyncio.create_task(run(lane, definition, {}, stop=stop, recorder=recorder, grace=grace))
    await until(lambda: recorder.texts("stdout") == ["ready"])
    stop.ask(StopReason.CANCELLED)
    return await running


async def test_a_program_is_asked_to_stop_as_its_job_is(lane: ProcessLane) -> None:
    """S1.20: it gets SIGTERM, and has its grace; if it then succeeds all the same, it has succeeded."""
    recorder = Recorder()
    ended = await _stopped(lane, "obeys", recorder, grace=30)
    assert ended.end == Returned("null")  # type: ignore[arg-type]
    assert recorder.texts("stdout") == ["ready", "stopping"]


async def test_a_program_that_does_not_stop_is_killed_after_its_grace(lane: ProcessLane) -> None:
    """S1.21: asked first, then forced."""
    recorder = Recorder()
    ended = await _stopped(lane, "stubborn", recorder, grace=2)
    assert ended.end == WasStopped()
    assert recorder.texts("stdout") == ["ready", "asked"]
    assert ended.usage.signal == 9


async def test_a_program_that_is_to_stop_before_it_was_started_is_not_started(lane: ProcessLane) -> None:
    recorder = Recorder()
    ended = await _stopped(lane, "held", recorder, grace=30)
    assert ended.end == WasStopped()
    assert recorder.texts("stdout") == ["ready"]


async def test_a_program_that_closes_its_output_is_still_waited_for(lane: ProcessLane) -> None:
    assert (await failure(lane, "mute")).error.kind == "ExitCode5"


async def test_limits_bind_a_program(lane: ProcessLane) -> None:
    """S1.19: of CPU time, and of memory."""
    spun = await failure(lane, "spins", limits=ResourceLimits(cpu=1))
    assert spun.lineage[:2] == ("SIGXCPU", "KilledBySignal")
    assert "CPU time" in spun.error.message
    greedy = await failure(lane, "greedy", limits=ResourceLimits(memory=256 << 20))
    assert (greedy.error.kind, "MemoryError" in greedy.error.message) == ("ExitCode1", True)


async def test_what_a_program_used_is_counted(lane: ProcessLane) -> None:
    ended = await run(lane, "works", {})
    assert isinstance(ended.end, Returned)
    assert ended.usage.cpu >= timedelta(seconds=float(ended.end.result) - 0.01)


async def test_a_script_is_run_by_whom_its_first_line_names(tmp_path: Path) -> None:
    """Three scripts: one that works, one that names no existing interpreter, one that names none."""
    firsts = {"works": "#!/bin/sh\necho 1", "lost": "#!/nowhere/sh\n", "mute": "echo 1\n"}
    for name, text in firsts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    (tmp_path / "scripts.py").write_text(
        "from tenure import Tenure\n"
        "app = Tenure()\n"
        f"for name in {list(firsts)}: app.command(name, [f'./{{name}}'])\n"
    )
    async with opened("scripts:app", folder=tmp_path, environment=ChildEnvironment(os.environ)) as lane:
        assert await result(lane, "works") == 1
        lost, mute = await failure(lane, "lost"), await failure(lane, "mute")
    assert (lost.error.kind, mute.error.kind) == ("ProgramNotFound", "ProgramNotExecutable")
    assert "its first line names is not found" in lost.error.message
    assert "whose first line names one" in mute.error.message
