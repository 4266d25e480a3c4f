"""What every command about jobs has in common: where it looks, and how it ends when it cannot do its work."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.storage.verbs import enqueue_one
from tests.surfaces.command import COMMAND, environment, fails, make_newer, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import NOBODY, on

OF_ONE_JOB = [("show",), ("watch",), ("logs",), ("logs", "-f"), ("cancel",), ("accept",), ("replay",)]
COMMANDS = [("enqueue", "mail"), ("jobs", "list"), *(("jobs", *one, NOBODY) for one in OF_ONE_JOB)]


def test_an_unknown_job_ends_with_1_and_one_line(tmp_path: Path, migrated: str) -> None:
    for command in OF_ONE_JOB:
        for form in ([], ["--json"]):
            ran = tenure(tmp_path, "jobs", *command, NOBODY, *form, "--database", migrated)
            assert fails(ran, 1, f"Error: there is no job {NOBODY}\n"), ran


@pytest.mark.parametrize(
    "written",
    ["1", "", "' OR 1=1--", "{" + NOBODY + "}", f"urn:uuid:{NOBODY}", NOBODY.replace("-", ""), NOBODY[-7:]],
)
@pytest.mark.parametrize("command", [("show",), ("cancel", NOBODY)])
def test_what_is_no_id_is_wrong_usage(tmp_path: Path, command: tuple[str, ...], written: str) -> None:
    ran = tenure(tmp_path, "jobs", *command, written)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "give the full id of a job" in ran.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert fails(tenure(tmp_path, *command), 6, "tenure.db does not exist: run `tenure migrate`")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_database_that_cannot_be_reached_ends_with_3(tmp_path: Path, command: tuple[str, ...]) -> None:
    with socket.socket() as taken:
        # Bound but not listening: whoever connects is refused.
        taken.bind(("127.0.0.1", 0))
        address = f"postgresql://tenure:s3cret@127.0.0.1:{taken.getsockname()[1]}/tenure"
        ran = tenure(tmp_path, *command, "--database", address)
    assert fails(ran, 3)
    assert "s3cret" not in ran.stderr
    (tmp_path / "letter.txt").write_text("Dear Ada, " * 1000)
    assert fails(
        tenure(tmp_path, *command, "--database", "sqlite:///letter.txt"), 3, "not an SQLite database"
    )


def test_a_schema_that_is_not_this_versions_ends_with_6(tmp_path: Path, migrated: str) -> None:
    make_newer(migrated)
    for command in COMMANDS:
        ran = tenure(tmp_path, *command, "--database", migrated)
        assert fails(ran, 6, "9999"), ran


@pytest.mark.parametrize("command", COMMANDS)
def test_an_address_that_names_no_store_ends_with_2(tmp_path: Path, command: tuple[str, ...]) -> None:
    ran = tenure(tmp_path, *command, "--database", "mysql://ada:s3cret@localhost/jobs")
    assert fails(ran, 2, "of an unknown kind")
    assert "s3cret" not in ran.stderr
    assert fails(tenure(tmp_path, *command, "--database", f"sqlite:///{tmp_path}"), 2, "is a directory")


def test_the_database_is_the_options_else_the_environments_else_the_files(tmp_path: Path) -> None:
    jobs = {}
    for name in ("a", "b", "c"):
        jobs[name] = str(on(f"sqlite:///{tmp_path / name}.db", enqueue_one))
    (tmp_path / "tenure.toml").write_text('database = "sqlite:///a.db"\n')
    assert jobs["a"] in tenure(tmp_path, "jobs", "list").stdout
    assert jobs["b"] in tenure(tmp_path, "jobs", "list", TENURE_DATABASE="sqlite:///b.db").stdout
    overruled = tenure(
        tmp_path, "jobs", "list", "--database", "sqlite:///c.db", TENURE_DATABASE="sqlite:///b.db"
    )
    assert jobs["c"] in overruled.stdout
    migrated = tenure(tmp_path, "migrate")
    assert migrated.stdout == "sqlite:///a.db is up to date\n"


def test_a_setting_that_is_not_known_ends_with_2_and_the_nearest_name(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "jobs", "list", TENURE_DATABSE="sqlite:///a.db")
    assert fails(ran, 2, "TENURE_DATABSE", "did you mean TENURE_DATABASE?")
    (tmp_path / "tenure.toml").write_text('databas = "sqlite:///a.db"\n')
    assert fails(tenure(tmp_path, "jobs", "list"), 2, "tenure.toml: databas", "did you mean database?")


@pytest.mark.parametrize("command", [("list",), ("show",), ("watch",), ("list", "--json")])
def test_a_pipe_that_nobody_reads_ends_it_without_a_word(tmp_path: Path, command: tuple[str, ...]) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    job = [] if command[0] == "list" else [str(on(database, enqueue_one))]
    on(database, enqueue_one)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed_pipe:
        ran = subprocess.run(
            [*COMMAND, "jobs", *command, *job, "--database", database],
            cwd=tmp_path,
            env=environment(),
            stdout=closed_pipe,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (1, b"")


@pytest.mark.parametrize(
    "arguments", [["jobs", "nope"], ["jobs", "show"], ["enqueue"], ["jobs", "list", "x"]]
)
def test_wrong_usage_ends_with_2(tmp_path: Path, arguments: list[str]) -> None:
    ran = tenure(tmp_path, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Usage: tenure " in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", [*(("jobs", one[0]) for one in OF_ONE_JOB), ("jobs", "list"), ("enqueue",)]
)
def test_help_reads_no_settings_and_needs_no_more_than_ascii(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    ran = tenure(tmp_path, *command, "--help", TENURE_DATABSE="x")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()


def test_an_interrupt_while_connecting_ends_with_130(silent_server: socket.socket, start: Start) -> None:
    address = f"postgresql://tenure@127.0.0.1:{silent_server.getsockname()[1]}/tenure"
    running = start("jobs", "list", "--database", address)
    connection, _ = silent_server.accept()
    with connection:
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 130
