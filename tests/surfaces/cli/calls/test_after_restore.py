"""`tenure migrate --after-restore`: what it says, and with which exit codes."""

from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tests.storage.verbs import MAIL as LINE
from tests.storage.verbs import job_in, state_of
from tests.surfaces.command import fails, sql, tenure
from tests.surfaces.store_behind import on

pytestmark = pytest.mark.both_stores

WORKER = WorkerInfo(id="ada-1", host="ada", pid=1, version="1", slots=1, lines=(LINE,))


def running_job(database: str) -> UUID:
    return on(database, lambda store: job_in(store, State.RUNNING))


def test_leases_end_and_their_jobs_wait_again(tmp_path: Path, migrated: str) -> None:
    job = running_job(migrated)
    ran = tenure(tmp_path, "migrate", "--after-restore", "--database", migrated)
    assert ran.returncode == 0, ran
    first, second = ran.stdout.splitlines()
    assert first == "restored: 1 lease ended, 1 job taken back"
    assert second.endswith(" is up to date")
    assert on(migrated, lambda store: state_of(store, job)) is State.QUEUED


def test_a_worker_that_may_still_run_is_named(tmp_path: Path, migrated: str) -> None:
    """And one that came with the backup is passed over on request."""
    job = running_job(migrated)
    on(migrated, lambda store: store.enlist(WORKER))
    ran = tenure(tmp_path, "migrate", "--after-restore", "--database", migrated)
    assert fails(ran, 1, "worker ada-1 on ada may still run", "s ago", "35 s later", "--workers-stopped")
    assert on(migrated, lambda store: state_of(store, job)) is State.RUNNING
    again = tenure(tmp_path, "migrate", "--after-restore", "--workers-stopped", "--database", migrated)
    assert (again.returncode, again.stderr) == (0, "")
    assert on(migrated, lambda store: state_of(store, job)) is State.QUEUED


def test_a_restored_database_is_refused_until_it_was_made_to_go_on(
    tmp_path: Path, postgres_database: str
) -> None:
    """By every command, with one line that says what to do."""
    database = postgres_database
    running_job(database)
    sql(database, "ALTER TABLE tenure.event DISABLE TRIGGER USER")
    sql(database, "UPDATE tenure.event SET mark = mark + 1000000000")
    sql(database, "ALTER TABLE tenure.event ENABLE TRIGGER USER")
    for command in (["migrate"], ["migrate", "--check"], ["jobs", "list"], ["api", "--port", "0"]):
        ran = tenure(tmp_path, *command, "--database", database)
        assert fails(ran, 6, "restored from a backup", "tenure migrate --after-restore"), command
    assert tenure(tmp_path, "migrate", "--after-restore", "--database", database).returncode == 0
    assert tenure(tmp_path, "jobs", "list", "--database", database).returncode == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--after-restore", "--check"], "exclude each other"),
        (["--after-restore", "--sql"], "exclude each other"),
        (["--workers-stopped"], "needs --after-restore"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    tmp_path: Path, options: list[str], problem: str
) -> None:
    ran = tenure(tmp_path, "migrate", *options)
    assert ran.returncode == 2
    assert problem in ran.stderr


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "migrate", "--after-restore", "--database", "sqlite:///none.db")
    assert fails(ran, 6, "does not exist")
    assert not (tmp_path / "none.db").exists()
