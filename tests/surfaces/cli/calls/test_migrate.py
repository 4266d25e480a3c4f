"""`tenure migrate`: what it does, what it says, and the exit codes that a script can rely on."""

import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tenure.core.values.urls import masked
from tests.postgres_server import PostgresServer
from tests.storage.verbs import enqueue_one, seconds
from tests.surfaces.command import fails, make_newer, sql, tenure
from tests.surfaces.conftest import Start
from tests.surfaces.store_behind import on

pytestmark = pytest.mark.both_stores


def test_an_empty_database_gets_every_migration_and_each_is_named(tmp_path: Path, database: str) -> None:
    ran = tenure(tmp_path, "migrate", "--database", database)
    assert (ran.returncode, ran.stderr) == (0, "")
    rows = sql(database, "SELECT number, name FROM tenure.migration ORDER BY number")
    named = [
        f"applied {number:04}_{name} ({position} of {len(rows)})"
        for position, (number, name) in enumerate(rows, start=1)
    ]
    assert named
    assert ran.stdout.splitlines() == [*named, f"{masked(database)} is up to date"]


def test_a_database_that_is_up_to_date_is_left_alone(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    before = sql(database, "SELECT * FROM tenure.migration ORDER BY number")
    ran = tenure(tmp_path, "migrate", "--database", database)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{masked(database)} is up to date\n", "")
    assert sql(database, "SELECT * FROM tenure.migration ORDER BY number") == before


def test_without_an_address_it_is_a_file_in_the_current_folder(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "migrate")
    assert ran.stdout.endswith("sqlite:///tenure.db is up to date\n")
    assert (tmp_path / "tenure.db").is_file()


def test_the_environment_names_the_database_and_the_option_overrules_it(tmp_path: Path) -> None:
    assert tenure(tmp_path, "migrate", TENURE_DATABASE="sqlite:///one.db").returncode == 0
    assert [path.name for path in tmp_path.glob("*.db")] == ["one.db"]
    overruled = tenure(tmp_path, "migrate", "--database", "sqlite:///two.db", TENURE_DATABASE="nonsense")
    assert overruled.returncode == 0
    assert (tmp_path / "two.db").is_file()


def test_a_bad_address_ends_with_2(tmp_path: Path) -> None:
    assert fails(tenure(tmp_path, "migrate", "--database", "oracle://h/x"), 2, "database", "postgresql://")
    assert fails(tenure(tmp_path, "migrate", TENURE_DATABASE="jobs.db"), 2, "database", "sqlite:///")


def test_a_directory_ends_with_2(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "migrate", "--database", f"sqlite:///{tmp_path}")
    assert fails(ran, 2, "is a directory")


def test_a_database_that_cannot_be_reached_ends_with_3(tmp_path: Path, unreachable: str) -> None:
    ran = tenure(tmp_path, "migrate", "--database", unreachable)
    assert fails(ran, 3)
    assert "s3cret" not in ran.stderr


def test_a_folder_that_is_not_there_ends_with_3(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "migrate", "--database", "sqlite:///no/such/folder/jobs.db")
    assert fails(ran, 3, "no/such/folder/jobs.db cannot be opened")


def test_a_file_that_is_no_database_ends_with_3_and_is_left_alone(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Ada, " * 1000)
    assert fails(
        tenure(tmp_path, "migrate", "--database", f"sqlite:///{letter}"), 3, "not an SQLite database"
    )
    assert letter.read_text() == "Dear Ada, " * 1000


def test_a_check_names_a_job_that_was_moved_by_hand_and_what_to_do(tmp_path: Path, database: str) -> None:
    """S0.11: the schema is right, so the exit code is 0; whoever reads is told of the job."""
    job = on(database, lambda store: enqueue_one(store, delay=seconds(60)))
    clean = tenure(tmp_path, "migrate", "--check", "--database", database)
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, f"{masked(database)} is up to date\n", "")

    sql(database, "UPDATE tenure.job_state SET state = 'queued', n = n + 1")
    ran = tenure(tmp_path, "migrate", "--check", "--database", database)
    assert (ran.returncode, ran.stdout) == (0, clean.stdout)
    assert ran.stderr == (
        f"Warning: job {job}: it is queued and stands in no line, so no worker will claim it; "
        "`tenure doctor --mend` puts it back in line\n"
    )


def test_a_schema_newer_than_the_code_ends_with_6(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    make_newer(database)
    assert fails(tenure(tmp_path, "migrate", "--database", database), 6, "9999", "upgrade tenure")


def test_a_password_is_not_repeated(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """A server without passwords ignores the one that it is given."""
    address = urlsplit(postgres_server.create_database(f"cli_{uuid4().hex}"))
    server = f"{address.hostname}:{address.port}"
    secret = address.password or "s3cret"
    database = address._replace(netloc=f"{address.username}:{secret}@{server}").geturl()
    ran = tenure(tmp_path, "migrate", "--database", database)
    assert ran.stdout.endswith(f":***@{server}{address.path} is up to date\n")


@pytest.mark.parametrize("command", ["migrate", "demo"])
def test_an_interrupted_wait_ends_with_130_and_no_words(
    silent_server: socket.socket, command: str, start: Start
) -> None:
    address = f"postgresql://tenure@127.0.0.1:{silent_server.getsockname()[1]}/tenure"
    running = start(command, "--database", address)
    connection, _ = silent_server.accept()
    with connection:
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 130
