"""`tenure migrate --check` and `--sql`: what they say of a database, and that they change nothing in it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tenure.core.values.urls import masked
from tests.postgres_versions import NEWEST, binaries_of
from tests.surfaces.command import environment, fails, make_newer, sql, tenure

pytestmark = pytest.mark.both_stores


def run_by_hand(database: str, text: str) -> None:
    """Give a text to a database's own shell."""
    psql = [str(binaries_of(NEWEST) / "psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", database]
    shell = [sys.executable, "-m", "apsw", "-bail", database.removeprefix("sqlite:///")]
    subprocess.run(
        psql if database.startswith("postgresql:") else shell,
        input=text,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_a_database_that_is_up_to_date_passes_the_check(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    ran = tenure(tmp_path, "migrate", "--check", "--database", database)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"{masked(database)} is up to date\n", "")


def test_a_check_names_the_first_migration_that_is_missing(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    sql(database, "DELETE FROM tenure.migration")
    ran = tenure(tmp_path, "migrate", "--check", "--database", database)
    assert fails(ran, 6, "lacks migration 0001_schema", "tenure migrate")
    assert sql(database, "SELECT * FROM tenure.migration") == []


def test_a_check_names_what_is_wrong(tmp_path: Path, database: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    sql(database, "DROP INDEX tenure.job_key")
    assert fails(
        tenure(tmp_path, "migrate", "--check", "--database", database), 6, "lacks the index", "job_key"
    )


def test_a_check_of_a_database_never_migrated_leaves_it_empty(tmp_path: Path, postgres_database: str) -> None:
    ran = tenure(tmp_path, "migrate", "--check", "--database", postgres_database)
    assert fails(ran, 6, "lacks migration 0001_schema")
    assert sql(postgres_database, "SELECT FROM pg_namespace WHERE nspname = 'tenure'") == []


@pytest.mark.parametrize("option", ["--check", "--sql"])
def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, option: str) -> None:
    ran = tenure(tmp_path, "migrate", option, "--database", "sqlite:///jobs.db")
    assert fails(ran, 6, "jobs.db does not exist")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--check", "--sql"])
def test_a_schema_newer_than_the_code_ends_with_6(tmp_path: Path, database: str, option: str) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    make_newer(database)
    ran = tenure(tmp_path, "migrate", option, "--database", database)
    assert fails(ran, 6, "schema 9999", "upgrade tenure")


@pytest.mark.parametrize("options", [("--check",), ()])
def test_a_newer_schema_that_can_be_read_is_said_to_be_compatible(
    tmp_path: Path, database: str, options: tuple[str, ...]
) -> None:
    tenure(tmp_path, "migrate", "--database", database)
    [(newest,)] = sql(database, "SELECT max(number) FROM tenure.migration")
    make_newer(database, reads_from=newest)
    ran = tenure(tmp_path, "migrate", *options, "--database", database)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == (
        f"{masked(database)} is newer, and compatible: it has schema 9999,"
        f" this version of tenure knows {newest}\n"
    )


def test_a_newer_schema_that_can_be_read_still_has_to_be_whole(tmp_path: Path, database: str) -> None:
    """What this version's migrations make is demanded; a guard has to be there, be it stricter."""
    tenure(tmp_path, "migrate", "--database", database)
    make_newer(database, reads_from=1)
    sql(database, "CREATE INDEX more ON tenure.job (priority)" if "postgres" in database else "SELECT 1")
    assert tenure(tmp_path, "migrate", "--check", "--database", database).returncode == 0
    trigger = "guard_record ON tenure.event" if "postgres" in database else "tenure.guard_event_update"
    sql(database, f"DROP TRIGGER {trigger}")
    ran = tenure(tmp_path, "migrate", "--check", "--database", database)
    assert fails(ran, 6, "guard", "is missing")


def test_the_text_of_a_kind_makes_a_database_that_passes_the_check(tmp_path: Path, database: str) -> None:
    kind = "postgres" if database.startswith("postgresql:") else "sqlite"
    # No server is at this address: nothing connects.
    nowhere = "postgresql://tenure@127.0.0.1:1/tenure"
    printed = tenure(tmp_path, "migrate", "--sql", "--for", kind, "--database", nowhere)
    assert (printed.returncode, printed.stderr) == (0, "")
    run_by_hand(database, printed.stdout)
    assert tenure(tmp_path, "migrate", "--check", "--database", database).returncode == 0
    assert tenure(tmp_path, "migrate", "--database", database).stdout == f"{masked(database)} is up to date\n"


def test_the_text_for_an_empty_database_is_the_one_of_its_kind(
    tmp_path: Path, postgres_database: str
) -> None:
    printed = tenure(tmp_path, "migrate", "--sql", "--database", postgres_database)
    assert printed.stdout == tenure(tmp_path, "migrate", "--sql", "--for", "postgres").stdout
    run_by_hand(postgres_database, printed.stdout)
    assert tenure(tmp_path, "migrate", "--check", "--database", postgres_database).returncode == 0
    again = tenure(tmp_path, "migrate", "--sql", "--database", postgres_database)
    assert again.stdout == "-- Nothing is missing.\n"


def test_a_text_that_fails_half_way_leaves_nothing_behind(tmp_path: Path, database: str) -> None:
    kind = "postgres" if database.startswith("postgresql:") else "sqlite"
    text = tenure(tmp_path, "migrate", "--sql", "--for", kind).stdout
    broken = text.replace("-- 0002_guard", "SELECT no_such_thing;\n-- 0002_guard")
    assert broken != text
    with pytest.raises(subprocess.CalledProcessError):
        run_by_hand(database, broken)
    run_by_hand(database, text)
    assert tenure(tmp_path, "migrate", "--check", "--database", database).returncode == 0


@pytest.mark.parametrize("options", [("--check", "--sql"), ("--for", "sqlite"), ("--sql", "--for", "oracle")])
def test_options_that_make_no_sense_end_with_2(tmp_path: Path, options: tuple[str, ...]) -> None:
    ran = tenure(tmp_path, "migrate", *options)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []
