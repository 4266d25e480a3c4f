"""`tenure demo`: its jobs go their ways, on both stores, and nobody is left behind however it ends."""

import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.job import Event
from tenure.core.model.states import FIRST, State, is_legal
from tenure.core.values.urls import masked
from tenure.surfaces.cli.calls import history
from tenure.surfaces.cli.calls.history import Astray
from tests.execution.attempts import is_alive
from tests.surfaces.command import COMMAND, PLAIN_ASCII, environment, fails, make_newer, sql, tenure
from tests.surfaces.conftest import Start

PATHS = {
    "greet": "queued → running → succeeded",
    "fetch": "queued → running → retrying → queued → running → succeeded",
    "resize": "queued → running → retrying → queued → running → succeeded",
    "encode": "queued → running → succeeded",
    "backup": "queued → running → cancelling → cancelled",
    "charge": "queued → running → retrying → queued → running → retrying → queued → running → failed",
}
STEPS = sum(path.count("→") + 1 for path in PATHS.values())
ATTEMPTS = sum(path.count("running") for path in PATHS.values())
CHANGE = re.compile(r"^ *\+\d+\.\d\d s  (\w+) +(\w+)", re.MULTILINE)
UNFINISHED = "SELECT count(*) FROM tenure.job_state WHERE finished_at IS NULL"


@pytest.mark.both_stores
def test_every_job_goes_its_way(tmp_path: Path, database: str) -> None:
    ran = tenure(tmp_path, "demo", "--database", database)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert _paths(ran.stdout) == PATHS
    assert f"6 jobs ended as they should, after {ATTEMPTS} attempts" in ran.stdout
    assert f"{STEPS} steps, every one in the table of legal steps" in ran.stdout
    [(queue,)] = sql(database, "SELECT DISTINCT queue FROM tenure.line")
    assert ran.stdout.endswith(f"; on {masked(database)}, kept in queue {queue}\n")
    assert sql(database, "SELECT count(*) FROM tenure.job") == [(len(PATHS),)]
    assert sql(database, "SELECT count(*) FROM tenure.definition") == [(0,)]


def test_without_a_terminal_each_change_is_a_line(tmp_path: Path) -> None:
    printed = tenure(tmp_path, "demo").stdout
    seen: dict[str, list[State]] = {}
    for name, state in CHANGE.findall(printed):
        seen.setdefault(name, []).append(State(state))
    assert {name: " → ".join(states) for name, states in seen.items()} == PATHS
    for states in seen.values():
        assert states[0] in FIRST
        assert all(is_legal(source, target) for source, target in pairwise(states))
    heard = [int(percent) for percent in re.findall(r"encode +(\d+)%", printed)]
    assert sorted({percent // 25 for percent in heard}) == [percent // 25 for percent in heard]
    assert heard[-1] == 100
    assert re.search(r"resize +retrying .*SIGSEGV", printed)
    assert re.search(r"backup +cancelled .*SIGKILL", printed)
    assert max(len(line) for line in printed.splitlines()[:-1]) <= 100


def test_by_default_it_reads_no_settings_and_leaves_nothing_behind(tmp_path: Path) -> None:
    settings, scratch = tmp_path / "tenure.toml", tmp_path / "scratch"
    settings.write_text("no such setting = ]")
    scratch.mkdir()
    ran = tenure(
        tmp_path, "demo", TMPDIR=str(scratch), TENURE_DATABASE="sqlite:///mine.db", TENURE_MAX_ATTEMPTS="1"
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"in {scratch}" in ran.stdout
    assert ran.stdout.endswith(", now deleted\n")
    assert list(scratch.iterdir()) == []
    assert set(tmp_path.iterdir()) == {settings, scratch}


def test_two_at_once_do_not_disturb_each_other(tmp_path: Path, migrated: str, start: Start) -> None:
    both = [start("demo", "--database", migrated, PYTHONUNBUFFERED="1") for _ in range(2)]
    for running in both:
        output, errors = running.communicate(timeout=60)
        assert (running.returncode, errors) == (0, "")
        assert _paths(output) == PATHS
    crews = sql(
        migrated,
        "SELECT line.queue, count(DISTINCT run.worker), count(DISTINCT job.id) FROM tenure.attempt run "
        "JOIN tenure.job job ON job.id = run.job JOIN tenure.line line ON line.id = job.line "
        "GROUP BY line.queue",
    )
    assert [row[1:] for row in crews] == [(1, len(PATHS))] * 2
    assert sql(migrated, UNFINISHED) == [(0,)]


def test_a_worker_that_serves_the_same_definitions_takes_no_part(tmp_path: Path, migrated: str) -> None:
    worker = subprocess.Popen(
        [*COMMAND, "worker", "tenure.surfaces.cli.demo.samples:app", "--database", migrated],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stderr is not None
        assert any('"worker.ready"' in line for line in iter(worker.stderr.readline, ""))
        ran = tenure(tmp_path, "demo", "--database", migrated)
    finally:
        worker.terminate()
        _, said = worker.communicate(timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert _paths(ran.stdout) == PATHS
    assert "demo." not in said
    assert worker.returncode == 0


def test_ctrl_c_ends_it_and_everybody_with_it(tmp_path: Path, database: str, start: Start) -> None:
    running = start("demo", "--database", database, TMPDIR=str(tmp_path), PYTHONUNBUFFERED="1")
    assert running.stdout is not None
    assert any("cancelling" in line for line in iter(running.stdout.readline, ""))
    crowd = _descendants(running.pid)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (130, "")
    assert len(crowd) >= 3  # the guard, the zygote, and at least the attempt that takes a while
    assert not [pid for pid in crowd if is_alive(pid)]
    assert sql(database, UNFINISHED) == [(0,)]
    assert not list(tmp_path.glob("tenure-*"))


def test_ascii_is_enough(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "demo", **PLAIN_ASCII)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()
    assert _paths(ran.stdout.replace("->", "→")) == PATHS


def test_a_name_that_the_output_cannot_write_is_no_failure(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "demo", "--database", "sqlite:///łódź.db", PYTHONIOENCODING="ascii:strict")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "łódź.db").is_file()


def test_a_pipe_that_nobody_reads_ends_it_without_a_word(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed_pipe:
        ran = subprocess.run(
            [*COMMAND, "demo"],
            cwd=tmp_path,
            env=environment(TMPDIR=str(tmp_path)),
            stdout=closed_pipe,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (1, b"")
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with Path(os.devnull).open("rb") as read_only:
        ran = subprocess.run(
            [*COMMAND, "demo"],
            cwd=tmp_path,
            env=environment(),
            stdout=read_only,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (1, b"Error: [Errno 9] Bad file descriptor\n")


def test_a_database_that_cannot_be_reached_ends_with_3(tmp_path: Path, unreachable: str) -> None:
    ran = tenure(tmp_path, "demo", "--database", unreachable)
    assert fails(ran, 3)
    assert "s3cret" not in ran.stderr


def test_a_database_that_vanishes_while_it_plays_ends_with_3(tmp_path: Path, start: Start) -> None:
    running = start("demo", "--database", "sqlite:///jobs.db", PYTHONUNBUFFERED="1")
    assert running.stdout is not None
    assert any("running" in line for line in iter(running.stdout.readline, ""))
    crowd = _descendants(running.pid)
    (tmp_path / "jobs.db").unlink()
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 3
    assert re.fullmatch(r"Error: .*moved or deleted.*\n", errors)
    assert not [pid for pid in crowd if is_alive(pid)]


def test_a_schema_newer_than_the_code_ends_with_6(tmp_path: Path, migrated: str) -> None:
    make_newer(migrated)
    assert fails(tenure(tmp_path, "demo", "--database", migrated), 6, "9999")
    assert sql(migrated, "SELECT count(*) FROM tenure.job") == [(0,)]


def test_a_history_that_is_not_legal_is_found_out() -> None:
    queued, running = _event(1, None, State.QUEUED), _event(2, State.QUEUED, State.RUNNING)
    history.check([queued, running, _event(3, State.RUNNING, State.SUCCEEDED)])
    history.check([queued, running, _event(3, State.RUNNING, State.RUNNING, "custom:half")])
    with pytest.raises(Astray, match="not in the table of steps"):
        history.check([queued, _event(2, State.QUEUED, State.SUCCEEDED)])
    with pytest.raises(Astray, match="not in the table of steps"):
        history.check([queued, running, _event(3, State.RUNNING, State.RUNNING, "started")])
    with pytest.raises(Astray, match="event 3 leaves running"):
        history.check([queued, _event(3, State.RUNNING, State.SUCCEEDED)])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            "history.is_legal = lambda source, target: target != 'failed'",
            "the step from running to failed is not in the table of steps",
        ),
        (
            "play.DEMO_JOBS = (play.DEMO_JOBS[0]._replace(path='queued running failed'),)",
            "greet took another path than it should: queued running succeeded, not queued running failed",
        ),
        ("play.DEADLINE_SECONDS = 0", "greet, fetch, resize, encode, backup, charge had not ended after 0 s"),
    ],
    ids=["an illegal step", "another end", "no end"],
)
def test_a_job_that_goes_astray_ends_it_with_1(tmp_path: Path, broken: str, said: str) -> None:
    program = (
        "from tenure.__main__ import main\nfrom tenure.surfaces.cli.calls import history\n"
        f"from tenure.surfaces.cli.demo import play\n{broken}\nmain()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, "demo"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "as they should" not in ran.stdout
    assert ran.stderr == f"Error: {said}\n"


def _paths(printed: str) -> dict[str, str]:
    """The line below each heading of the summary."""
    return {
        heading[1]: below.strip()
        for line, below in pairwise(printed.splitlines())
        if (heading := re.match(r"(\w+) .*  \[job [0-9a-f]{8}\]$", line))
    }


def _descendants(pid: int) -> set[int]:
    try:
        written = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # it has ended meanwhile
        return set()
    children = {int(child) for child in " ".join(written).split()}
    return children.union(*(_descendants(child) for child in children))


def _event(n: int, source: State | None, target: State, kind: str | None = None) -> Event:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(
        job=UUID(int=1),
        n=n,
        type=kind or target,
        source=source,
        target=target,
        attempt=0,
        fence=0,
        at=at,
        actor="api",
    )
