"""What commands change stands in the audit log: once for each change, by whom, to what, and how it ended."""

from pathlib import Path

from tenure.core.model.lease import Line
from tenure.core.model.states import State
from tenure.core.reports.operations import WorkerInfo
from tests.storage.verbs import enqueue_one, one_in_each_state, state_of
from tests.surfaces.command import fails, sql, tenure
from tests.surfaces.store_behind import MAIL, NOBODY, on, register


def audit_of(database: str) -> list[tuple[str, str, str | None]]:
    """Action, target and outcome of every entry, the oldest first."""
    found = on(database, lambda store: store.audit_entries())
    return [(one.entry.action, one.entry.target, one.outcome) for one in reversed(found)]


def test_each_job_that_a_command_changes_has_an_entry_with_its_outcome(tmp_path: Path, migrated: str) -> None:
    there = {state: str(job) for state, job in on(migrated, one_in_each_state).items()}
    queued, done, waits = there[State.QUEUED], there[State.SUCCEEDED], there[State.RETRYING]
    for command, *jobs in (
        ("cancel", queued, done, NOBODY),
        ("accept", there[State.CREATED]),
        ("run-now", waits, done),
        ("give-up", waits, done),
        ("replay", done, there[State.RUNNING]),
        ("put-back", waits),
    ):
        tenure(tmp_path, "jobs", command, *jobs, "--database", migrated)
    assert audit_of(migrated) == [
        ("jobs cancel", queued, "done"),
        ("jobs cancel", done, "refused wrong-state"),
        ("jobs cancel", NOBODY, "refused job-not-found"),
        ("jobs accept", there[State.CREATED], "done"),
        ("jobs run-now", waits, "done"),
        ("jobs run-now", done, "refused job-not-waiting"),
        ("jobs give-up", waits, "done"),
        ("jobs give-up", done, "refused wrong-state"),
        ("jobs replay", done, "done"),
        ("jobs replay", there[State.RUNNING], "refused job-unfinished"),
        ("jobs put-back", waits, "refused wrong-state"),
    ]
    [first, *_] = on(migrated, lambda store: store.audit_entries())
    assert first.entry.who.endswith(", by command")
    assert first.entry.key is None


def test_definitions_and_workers_are_changed_on_record_too(tmp_path: Path, migrated: str) -> None:
    register(migrated, MAIL)
    worker = WorkerInfo(id="ann", host="here", pid=7, version="1", slots=1, lines=(Line("default", "mail"),))
    on(migrated, lambda store: store.enlist(worker))
    for arguments in (
        ("definitions", "set", "mail", "--priority", "5"),
        ("definitions", "reset", "mail", "--version", "1"),
        ("definitions", "set", "nail", "--priority", "5"),
        ("definitions", "set", "mail", "--priority", "99999999"),
        ("workers", "drain", "ann"),
        ("workers", "drain", "\x1b[31m" + "x" * 10_000),
    ):
        tenure(tmp_path, *arguments, "--database", migrated)
    *entries, (action, target, outcome) = audit_of(migrated)
    assert entries == [
        ("definitions set", "mail", "done"),
        ("definitions reset", "mail@1", "done"),
        ("definitions set", "nail", "refused unknown-definition"),
        ("definitions set", "mail", "refused invalid-input"),
        ("workers drain", "ann", "done"),
    ]
    assert (action, outcome, len(target)) == ("workers drain", "refused invalid-input", 255)
    assert target.isprintable()


def test_what_only_reads_leaves_no_entry(tmp_path: Path, migrated: str) -> None:
    """Nor does a new job, which tells in its history who made it."""
    register(migrated, MAIL)
    job = tenure(tmp_path, "enqueue", "mail", "--database", migrated).stdout.strip()
    for arguments in (
        ("jobs", "list"),
        ("jobs", "show", job),
        ("definitions", "list"),
        ("workers", "list"),
        ("keys", "list"),
        ("audit",),
    ):
        assert tenure(tmp_path, *arguments, "--database", migrated).returncode == 0
    assert audit_of(migrated) == []


def test_a_change_that_cannot_be_recorded_is_not_made(tmp_path: Path, migrated: str) -> None:
    """The database refuses the entry: the command says so and ends with 3, and the job stays as it was."""
    job = on(migrated, enqueue_one)
    _refuse(migrated, "INSERT")
    ran = tenure(tmp_path, "jobs", "cancel", str(job), "--database", migrated)
    assert fails(ran, 3, "no room in the log")
    assert on(migrated, lambda store: state_of(store, job)) is State.QUEUED
    assert audit_of(migrated) == []


def test_an_outcome_that_cannot_be_written_stays_open(tmp_path: Path, migrated: str) -> None:
    """What was done is done, and the command says so."""
    job = on(migrated, enqueue_one)
    _refuse(migrated, "UPDATE")
    ran = tenure(tmp_path, "jobs", "cancel", str(job), "--database", migrated)
    assert (ran.returncode, ran.stdout) == (0, f"{job} cancelled\n")
    assert audit_of(migrated) == [("jobs cancel", str(job), None)]


def _refuse(database: str, verb: str) -> None:
    """Let the database itself refuse to write to the audit log."""
    if database.startswith("sqlite"):
        body = "BEGIN SELECT RAISE(ABORT, 'no room in the log'); END"
    else:
        body = "FOR EACH ROW EXECUTE FUNCTION public.refuse()"
        sql(
            database,
            "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE 'no room in the log'; END $$",
        )
    sql(database, f"CREATE TRIGGER refuse BEFORE {verb} ON tenure.audit {body}")
