"""The user's module is imported by the zygote: when that fails, when it starts threads, when it changes."""

import asyncio
import json
import os
import resource
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import pytest_asyncio

from tenure.core.errors import TenureError
from tenure.core.model.retry import Crashed, OutOfMemory, Raised, Returned, TimedOut, WasStopped
from tenure.core.values.failure import Failure
from tenure.execution.handler.handler import AppFailed
from tenure.execution.parent.attempt_terms import StopReason, StopRequest, Unstarted
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.protocol.environment import ChildEnvironment
from tests.execution.attempts import BOUND, Recorder, is_alive, lane_of, opened, run

APP = """
import json, os, signal, threading, time
from tenure.execution.protocol import kernel
from tenure.execution.handler.handler import Handler

def tells(params, ctx):
    return {"imported_by": PID, "pid": os.getpid(), "threads": threading.active_count(),
            "helper": globals().get("HELPER"), "sockets": SOCKETS,
            "taken": [os.environ.get("LC_CTYPE"), os.environ.get("PYTHONPATH")]}

def is_killed(params, ctx):
    if params:
        open(params, "w").write("5")
    os.kill(os.getpid(), signal.SIGKILL)

def kills_its_parent(params, ctx):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)

class App:
    def handler(self, key, version):
        return Handler(globals()[key], json.loads)
    def manifest(self):
        return b"x" * SIZE

def is_socket(descriptor):
    try:
        return os.readlink("/proc/self/fd/" + descriptor).startswith("socket:")
    except OSError:
        return False

SOCKETS = sum(map(is_socket, os.listdir("/proc/self/fd")))
PID = os.getpid()
SIZE = 3
app = App()
"""
THREADS = """
for _ in range(2):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
"""

Make = Callable[..., ProcessLane]
ENDED_FIRST = Unstarted(Failure("NotStarted", "the worker ended before the app was imported again"))


@pytest_asyncio.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    """Lanes for modules that are written as the test goes along."""
    made = []

    def lane(source: str, target: str = "shop:app", **options: int) -> ProcessLane:
        (tmp_path / "shop.py").write_text(dedent(source))
        made.append(lane_of(target, folder=tmp_path, environment=ChildEnvironment(os.environ), **options))
        return made[-1]

    yield lane
    for each in made:
        await each.close()


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("", "missing:app", "there is no module missing, neither in "),
        ("", "shop.jobs:app", "there is no module shop.jobs, neither in "),
        ("import missing", "shop:app", "ModuleNotFoundError: No module named 'missing'"),
        ("", "shop:app", "shop has no app"),
        (APP, "shop:shop", "shop has no shop; write shop:app"),
        (APP, "shop:tells", "shop:tells is no app but of type function; write shop:app"),
        ("", "shop.py:app", "'shop.py:app' names a file; write its module: shop:app"),
        ("", "./src/shop.py", "'./src/shop.py' names a file; write its module: src.shop:app"),
        ("app = 1", "shop:app", "cannot be loaded: shop:app is no app but of type int"),
        (
            "",
            "shop",
            "cannot be loaded: 'shop' does not name an app; write it as module:attribute, such as shop:app",
        ),
        ("def", "shop:app", "SyntaxError"),
        ("1 / 0", "shop:app", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(4)", "shop:app", "SystemExit: 4"),
        ("import os; os._exit(4)", "shop:app", "the process that imports it ended"),
        ("import os; os.kill(os.getpid(), 9)", "shop:app", "the process that imports it ended"),
    ],
)
async def test_a_module_that_cannot_be_imported_is_named(
    make: Make, source: str, target: str, said: str
) -> None:
    with pytest.raises(AppFailed) as failed:
        await make(source, target).start()
    assert str(failed.value).startswith(f"{target} cannot be loaded: ")
    assert said in str(failed.value)


async def test_where_it_failed_is_told(make: Make) -> None:
    with pytest.raises(AppFailed) as failed:
        await make("def f():\n    return 1 / 0\nf()").start()
    assert failed.value.error.traceback is not None
    assert "in f" in failed.value.error.traceback


async def test_the_module_is_imported_once_for_all_attempts(make: Make) -> None:
    lane = make(APP)
    assert await lane.start() == b"xxx"
    seen = [await seen_by(lane) for _ in range(4)]
    assert len({each["imported_by"] for each in seen}) == 1
    assert len({each["pid"] for each in seen}) == 4
    assert os.getpid() not in {each["imported_by"] for each in seen}


async def test_a_large_manifest_arrives_whole(make: Make) -> None:
    assert len(await make(APP.replace("SIZE = 3", "SIZE = 9_000_000")).start()) == 9_000_000


@pytest.mark.parametrize("spares", [0, 2])
async def test_a_module_that_starts_threads_is_imported_anew_each_time(make: Make, spares: int) -> None:
    lane = make(APP + THREADS, spares=spares)
    assert await lane.start() == b"xxx"
    assert lane.notice is not None
    assert "shop:app starts 2 thread(s) at import" in lane.notice
    for _ in range(3):
        seen = await seen_by(lane)
        assert seen["imported_by"] == seen["pid"]
        assert seen["sockets"] == 1  # its own, and none of the zygote's
        assert seen["threads"] == 3


async def test_one_that_starts_threads_and_breaks_later_fails_its_attempts_by_name(make: Make) -> None:
    lane = make(APP + THREADS, spares=0)
    await lane.start()
    make("1 / 0")
    end = (await run(lane, "tells")).end
    assert isinstance(end, Raised)
    assert end.error.kind.endswith("AppFailed")
    assert "division by zero" in end.error.message


async def test_when_the_zygote_cannot_be_replaced_the_call_says_why(make: Make) -> None:
    lane = make(APP)
    await lane.start()
    make("1 / 0")
    await run(lane, "kills_its_parent")
    with pytest.raises(AppFailed, match="division by zero"):
        await run(lane, "tells")
    make(APP)
    assert (await seen_by(lane))["threads"] == 1


async def test_a_process_that_the_module_starts_belongs_to_no_attempt(make: Make) -> None:
    lane = make("import subprocess\nHELPER = subprocess.Popen(['sleep', '3600']).pid\n" + APP)
    await lane.start()
    await seen_by(lane)
    helper = (await seen_by(lane))["helper"]
    assert is_alive(helper)
    await lane.close()
    assert not is_alive(helper)


async def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AppFailed, match="No such file or directory"):
        await lane_of("shop:app", folder=tmp_path / "missing").start()


async def test_a_variable_that_the_zygote_uses_is_given_where_it_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(APP)
    # The last one must not keep the app from being found in its folder.
    variables = {**os.environ, "LC_CTYPE": "C", "PYTHONPATH": "/p", "PYTHONSAFEPATH": "1"}
    for allowed, expected in (
        (["*"], ["C", "/p"]),
        (["PYTHONPATH", "LC_*"], ["C", "/p"]),
        ([], [None, None]),
    ):
        environment = ChildEnvironment(variables, allowed)
        async with opened("shop:app", folder=tmp_path, environment=environment) as lane:
            seen = await seen_by(lane)
        assert seen["taken"] == expected


async def test_the_kernels_kill_for_want_of_memory_is_told_from_any_other(make: Make, tmp_path: Path) -> None:
    """The kernel's count is the test's own; everything else is real."""
    count = tmp_path / "count"
    count.write_text("4")
    lane = make(APP + f"kernel.killed_for_memory = lambda: int(open({str(count)!r}).read())\n")
    await lane.start()
    assert isinstance((await run(lane, "is_killed")).end, Crashed)
    assert (await run(lane, "is_killed", str(count))).end == OutOfMemory()


async def test_a_closed_lane_runs_nothing(make: Make) -> None:
    lane = make(APP)
    await lane.start()
    await lane.close()
    with pytest.raises(TenureError, match="closed"):
        await run(lane, "tells")


async def test_when_descriptors_run_out_the_attempt_is_not_started(make: Make) -> None:
    lane = make(APP)
    await lane.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208
    gaps = [os.dup(0)]
    while gaps[-1] <= highest:
        gaps.append(os.dup(0))
    try:
        for room in range(6):
            resource.setrlimit(resource.RLIMIT_NOFILE, (gaps[-1] + 1 + room, hard))
            end = (await run(lane, "tells")).end
            assert isinstance(end, Unstarted)
            assert end.error.kind == "NotStarted"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in gaps:
            os.close(descriptor)
    assert (await seen_by(lane))["threads"] == 1


async def test_what_the_module_prints_at_import_is_in_no_attempts_log(
    make: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    lane = make("print('hello from the import')\n" + APP)
    await lane.start()
    recorder = Recorder()
    await run(lane, "tells", recorder=recorder)
    assert recorder.lines == []
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "hello from the import" in captured.err


async def seen_by(lane: ProcessLane) -> dict[str, Any]:
    end = (await run(lane, "tells")).end
    assert isinstance(end, Returned)
    seen: dict[str, Any] = json.loads(end.result)
    return seen


@pytest.mark.parametrize(
    ("reason", "end"),
    [
        (None, TimedOut(timedelta(seconds=0.1))),
        (StopReason.CANCELLED, WasStopped()),
        (StopReason.LOST, None),
        (StopReason.SHUTDOWN, ENDED_FIRST),
    ],
)
async def test_an_attempt_that_waits_for_another_zygote_can_be_stopped(
    make: Make, tmp_path: Path, reason: StopReason | None, end: object
) -> None:
    """The module may hang when it is imported again: no attempt waits for it longer than it must."""
    lane = make(f"import time\nif __import__('os').path.exists('{tmp_path}/hang'): time.sleep(3600)\n" + APP)
    await lane.start()
    (tmp_path / "hang").touch()
    await run(lane, "kills_its_parent")
    stop = StopRequest()
    async with asyncio.timeout(BOUND), asyncio.TaskGroup() as tasks:
        ended = tasks.create_task(run(lane, "tells", timeout=0.1 if reason is None else BOUND, stop=stop))
        if reason is not None:
            await asyncio.sleep(0)
            stop.ask(reason)
    assert ended.result().end == end
    (tmp_path / "hang").unlink()
    assert (await seen_by(lane))["pid"]
