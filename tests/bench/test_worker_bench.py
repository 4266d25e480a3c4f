"""The worker's bench runs from end to end and leaves no process behind. Speed is not judged."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench import processes, report
from bench.goals import WORKER_GOALS
from bench.stamps import Stamps, stamp
from bench.worker_rows import ROWS
from tests.until import until_sync

ROOT = Path(__file__).parents[2]
OURS = ("bench", "tenure", "postgres", "multiprocessing")
"""Each is in the command line of some process that a run starts."""

PATIENCE = 500


@pytest.mark.long
def test_a_quick_run_measures_its_rows(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    ran = _bench("--quick", "--json", str(file))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert set(told.rows) == set(ROWS)
    assert WORKER_GOALS.keys() <= set(told.figures)
    assert report.markdown(told, report.WORKER) in ran.stdout


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM])
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
    until_sync(lambda: not _ours(everybody))


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
    """Run it to its end; one that takes too long is asked to stop: killing it would orphan its servers."""
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

    def family_of_a_worker() -> list[int] | None:
        assert bench.poll() is None, "the bench ended before it had started a worker"
        family = processes.family(bench.pid)
        return family if any("tenure.execution.zygote" in _words(pid) for pid in family) else None

    return until_sync(family_of_a_worker) or []


def _ours(pids: list[int]) -> list[int]:
    return [pid for pid in pids if any(name in _words(pid) for name in OURS)]


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
