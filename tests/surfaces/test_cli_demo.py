"""`tenure demo`: the stories come out as told, on both stores and on whatever the output goes to."""

import os
import pty
import re
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.job import Event
from tenure.core.states import FIRST, State, is_legal
from tenure.core.urls import masked
from tenure.surfaces.cli import history
from tenure.surfaces.cli.stories import STORIES, Astray
from tests.surfaces.command import COMMAND, PLAIN_ASCII, environment, fails, make_newer, sql, tenure

PATHS = [
    "queued → running → succeeded",
    "queued → running → retrying → queued → running → succeeded",
    "queued → running → failed",
    "scheduled → queued → running → succeeded",
    "queued → cancelled",
    "queued → running → cancelling → cancelled",
    "queued → running → queued → running → succeeded",
    "queued → running → succeeded",
    "created → queued → running → succeeded",
]
STEPS = sum(path.count("→") + 1 for path in PATHS)
ROW = re.compile(r"^ +\d+  (\w+) +([\w-]+) +→ +(\w+) +(\d+) +(\d+) +\+\d+\.\d  \S", re.MULTILINE)


def test_every_story_takes_its_path(tmp_path: Path, database: str) -> None:
    ran = tenure(tmp_path, "demo", "--database", database)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert _paths(ran.stdout) == PATHS
    assert ran.stdout.splitlines()[-1].startswith(f"{len(PATHS)} jobs, {STEPS} steps, ")
    assert ran.stdout.endswith(f"; on {masked(database)}, and kept\n")


def test_every_path_and_every_row_is_legal(tmp_path: Path) -> None:
    printed = tenure(tmp_path, "demo").stdout
    for path in _paths(printed):
        states = [State(word) for word in path.split(" → ")]
        assert states[0] in FIRST
        assert all(is_legal(source, target) for source, target in pairwise(states))
    rows = ROW.findall(printed)
    assert len(rows) == STEPS
    assert all(is_legal(None if row[1] == "-" else State(row[1]), State(row[2])) for row in rows)


def test_what_was_refused_and_what_was_not_added_is_said(tmp_path: Path, database: str) -> None:
    printed = tenure(tmp_path, "demo", "--database", database).stdout
    assert re.search(r"worker-a came back and reported success under fence \d+: refused", printed)
    assert "the second request was answered with the first one's job; nothing was added" in printed
    assert "reaper (lease ran out)" in printed


def test_by_default_it_leaves_nothing_behind(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "demo", TMPDIR=str(tmp_path), TENURE_DATABASE="sqlite:///mine.db")
    assert ran.returncode == 0
    assert f"in {tmp_path}" in ran.stdout
    assert ran.stdout.endswith(", now deleted\n")
    assert list(tmp_path.iterdir()) == []


def test_on_a_database_of_ones_own_it_plays_as_often_as_one_likes(tmp_path: Path, database: str) -> None:
    for times in (1, 2):
        assert tenure(tmp_path, "demo", "--database", database).returncode == 0
        assert sql(database, "SELECT count(*) FROM tenure.job") == [(times * len(STORIES),)]
    [(unfinished,)] = sql(database, "SELECT count(*) FROM tenure.job_state WHERE finished_at IS NULL")
    assert unfinished == 0


def test_the_page_is_at_most_a_hundred_columns_wide(tmp_path: Path) -> None:
    *page, _summary = tenure(tmp_path, "demo").stdout.splitlines()
    assert max(len(line) for line in page) <= 100


def test_ascii_is_enough(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "demo", **PLAIN_ASCII)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()
    assert [path.replace("->", "→") for path in _paths(ran.stdout, arrow="->")] == PATHS


@pytest.mark.parametrize("changed", [{"LANG": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "latin-1"}])
def test_any_locale_will_do(tmp_path: Path, changed: dict[str, str]) -> None:
    ran = tenure(tmp_path, "demo", **changed)
    assert (ran.returncode, ran.stderr) == (0, "")


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


def test_colour_is_for_terminals_that_want_it(tmp_path: Path) -> None:
    assert "\x1b[" in _on_a_terminal(tmp_path)
    assert "\x1b[" not in _on_a_terminal(tmp_path, NO_COLOR="1")
    assert "\x1b[" not in tenure(tmp_path, "demo").stdout


def test_a_database_that_cannot_be_reached_ends_with_3(tmp_path: Path, unreachable: str) -> None:
    ran = tenure(tmp_path, "demo", "--database", unreachable)
    assert fails(ran, 3)
    assert "s3cret" not in ran.stderr


def test_a_schema_newer_than_the_code_ends_with_6(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    make_newer(database)
    assert fails(tenure(tmp_path, "demo", "--database", database), 6, "9999")
    assert sql(database, "SELECT count(*) FROM tenure.job") == [(0,)]


def test_a_history_that_is_not_legal_is_not_printed() -> None:
    queued, running = _event(1, None, State.QUEUED), _event(2, State.QUEUED, State.RUNNING)
    history.check([queued, running, _event(3, State.RUNNING, State.SUCCEEDED)])
    with pytest.raises(Astray, match="not in the table of steps"):
        history.check([queued, _event(2, State.QUEUED, State.SUCCEEDED)])
    with pytest.raises(Astray, match="event 3 leaves running"):
        history.check([queued, _event(3, State.RUNNING, State.SUCCEEDED)])


def test_a_story_that_goes_astray_ends_with_1(tmp_path: Path) -> None:
    broken = (
        "from tenure import assemble\n"
        "from tenure.surfaces.cli import history\n"
        "history.is_legal = lambda source, target: target != 'failed'\n"
        "assemble.main()"
    )
    ran = subprocess.run(
        [sys.executable, "-c", broken, "demo"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, _paths(ran.stdout)) == (1, PATHS[:2])
    assert ran.stderr == "Error: the step from running to failed is not in the table of steps\n"


def _paths(printed: str, arrow: str = "→") -> list[str]:
    """The line below each heading."""
    lines = printed.splitlines()
    found = [
        below.strip() for line, below in pairwise(lines) if re.match(r"\d\. .*\[job [0-9a-f]{8}\]", line)
    ]
    assert all(arrow in path for path in found)
    return found


def _event(n: int, source: State | None, target: State) -> Event:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(
        job=UUID(int=1),
        n=n,
        type=target,
        source=source,
        target=target,
        attempt=0,
        fence=0,
        at=at,
        actor="api",
    )


def _on_a_terminal(folder: Path, **changed: str) -> str:
    """What the command writes to a terminal that it believes in."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen([*COMMAND, "demo"], cwd=folder, env=environment(**changed), stdout=theirs)
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65_536):
            written += chunk
    except OSError:
        pass  # Linux's way to say that the other side of a terminal is closed.
    finally:
        os.close(ours)
    assert running.wait(timeout=60) == 0
    return written.decode()
