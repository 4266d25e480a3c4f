"""The bench beside rivals runs from end to end, with a rival from the package index. How fast is not told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import report, rivals_report
from bench.peers import installing

ROOT = Path(__file__).parents[2]
PATIENCE = 500


@pytest.mark.long
def test_a_rival_is_set_up_and_measured_and_named_when_it_does_not_work(tmp_path: Path) -> None:
    peers, file = tmp_path / "peers", tmp_path / "figures.json"
    ready = _bench("--setup", "huey", peers=peers)
    assert (ready.returncode, ready.stdout) == (0, "huey: here\n"), ready.stderr

    ran = _bench("--quick", "--rows", "sqlite", "--json", str(file), peers=peers)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = report.load(file)
    assert not told.failures
    assert told.figures["drain-sqlite-beside-huey-sqlite"].value > 0
    ours, theirs = (len(speed.rounds) for speed in told.rows["sqlite-huey-sqlite"].speeds)
    assert ours == theirs >= 2  # more where the machine had other things to do
    assert rivals_report.markdown(told) in ran.stdout
    assert f"huey {installing.version('huey', 'huey')}" in ran.stdout

    _break(peers / "huey/bin/huey_consumer")
    ran = _bench("--quick", "--rows", "sqlite", "--check", peers=peers)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (
        "not measured: Huey: the worker has ended with status 3; the worker has said: out of order"
        in ran.stdout
    )


def test_what_cannot_be_installed_is_said_and_fails_the_setup(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()  # without npm
    ran = _bench("--setup", "node", peers=tmp_path / "peers", path=str(tmp_path / "bin"))
    assert ran.returncode == 1
    assert ran.stdout.startswith("node: node could not be installed: ")
    assert "npm" in ran.stdout


def _break(program: Path) -> None:
    program.write_text("#!/bin/sh\necho out of order\nexit 3\n")


def _bench(*arguments: str, peers: Path, path: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Run it to its end; one that takes too long is asked to stop: killing it would orphan its servers."""
    variables = {installing.VARIABLE: str(peers), "PATH": path or os.environ["PATH"]}
    with subprocess.Popen(
        [sys.executable, "-m", "bench.rivals", *arguments],
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
