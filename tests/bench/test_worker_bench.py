"""The worker's bench runs from end to end and leaves nobody behind. How fast anything was is not told."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import processes, report
from bench.goals import WORKER_GOALS
from bench.stamps import Stamps, stamp
from bench.worker_rows import ROWS
from tests.bench.quickly import chosen, only

ROOT = Path(__file__).parents[2]
OURS = ("bench", "tenure", "postgres", "multiprocessing")
"""Each is in the command line of some process that a run starts."""

PATIENCE = 500


def test_a_quick_run_measures_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    rows = chosen(ROWS, "start-latency", "idle", "untraced")
    ran = _bench("--quick", *only(rows), "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert set(told.rows) == set(rows)
    assert {goal for goal in WORKER_GOALS if goal.startswith(tuple(rows))} <= set(told.figures)
    assert report.markdown(told, report.WORKER) in ran.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nobody_behind(number: signal.Signals) -> None:
    with subprocess.Popen(
        _command("--only", "start-latency"),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as bench:
        everybody = _with_a_worker(bench)
        bench.send_signal(number)
        assert bench.wait(PATIENCE) != 0
    # Python's own tracker of shared memory ends a moment after the process that it tracks for.
    deadline = time.monotonic() + PATIENCE
    while (left := _ours(everybody)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


def test_a_process_is_counted_with_all_below_it(tmp_path: Path) -> None:
    script = "sh -c 'echo up; read _' <&3 & wait"
    read, write = os.pipe()
    command = ["bash", "-c", f"exec 3<&{read}; {script}"]
    os.set_inheritable(read, True)
    with subprocess.Popen(command, pass_fds=[read], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"up\n"
        family = processes.family(shell.pid)
        assert len(family) == 2
        assert (processes.memory(shell.pid) or 0) > (processes.memory(family[1]) or 0) > 0
        os.close(write)
        os.close(read)


def test_stamps_are_moments_of_the_common_clock_in_order(tmp_path: Path) -> None:
    stamps = Stamps(tmp_path / "stamps")
    for _ in range(3):
        stamp(str(stamps.path))
    moments = stamps.read()
    assert len(stamps) == len(moments) == 3
    assert moments == sorted(moments)


def _bench(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run it to its end; one that takes too long is told to stop, since whoever kills it orphans servers."""
    with subprocess.Popen(
        _command(*arguments),
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as bench:
        try:
            output, errors = bench.communicate(timeout=PATIENCE)
        except BaseException:
            bench.terminate()
            bench.communicate()
            raise
    return subprocess.CompletedProcess(bench.args, bench.returncode, output, errors)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bench.worker", *arguments]


def _with_a_worker(bench: "subprocess.Popen[bytes]") -> list[int]:
    """Everybody below a bench, once its worker has a zygote."""
    while bench.poll() is None:
        family = processes.family(bench.pid)
        if any("tenure.execution.zygote" in _words(pid) for pid in family):
            return family
        time.sleep(0.02)
    raise AssertionError("the bench ended before it had started a worker")


def _ours(pids: list[int]) -> list[int]:
    return [pid for pid in pids if any(name in _words(pid) for name in OURS)]


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
