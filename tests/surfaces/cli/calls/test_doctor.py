"""`tenure doctor`: each thing that it finds, made real in a database, and what it ends with."""

import json
import os
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.aside import JobsAside
from tenure.core.model.lease import Line
from tenure.core.values.urls import masked
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.verbs import claim, enqueue_one
from tests.surfaces.cli.calls.examination import examined, found, serve
from tests.surfaces.command import fails, make_newer, sql, tenure
from tests.surfaces.store_behind import on

pytestmark = pytest.mark.both_stores


def ago(database: str, seconds: int) -> str:
    """SQL for a time in the past, or with a negative number ahead, by the machine's clock."""
    if database.startswith("sqlite:"):
        return f"(CAST(strftime('%s', 'now') AS INTEGER) - ({seconds})) * 1000000"
    return f"(clock_timestamp() - interval '{seconds} seconds')"


def test_a_store_that_is_well_needs_nobody(tmp_path: Path, migrated: str) -> None:
    async def at_work(store: Store) -> None:
        await serve(store)
        await enqueue_one(store)

    on(migrated, at_work)
    said = examined(tmp_path, migrated, 0)
    assert said["database"] == masked(migrated)
    assert all(finding["kind"] == "isolation" for finding in said["findings"])
    facts = {fact["name"]: fact["value"] for fact in said["store"]}
    assert (facts["schema"], facts["workers"]) == ("fits this version of tenure", "1 alive, 0 silent")
    ran = tenure(tmp_path, "doctor", "--database", migrated)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("well: no person is needed\n")


def test_settings_are_shown_with_where_they_come_from(tmp_path: Path, migrated: str) -> None:
    (tmp_path / "tenure.toml").write_text("slots = 3\n")
    ran = tenure(tmp_path, "doctor", "--json", "--database", migrated, TENURE_MAX_RETRIES="9")
    settings = {one["name"]: (one["value"], one["source"]) for one in json.loads(ran.stdout)["settings"]}
    assert settings["database"] == (masked(migrated), "--database")
    assert settings["slots"] == (3, "tenure.toml: slots")
    assert settings["max_attempts"] == (9, "TENURE_MAX_RETRIES")
    assert settings["queues"] == ([], None)
    lines = tenure(tmp_path, "doctor", TENURE_DATABASE=migrated).stdout.splitlines()
    assert [f"  database  {masked(migrated)}  (from TENURE_DATABASE)"] == [
        line for line in lines if "(from TENURE" in line
    ]
    assert any(line.endswith("3  (from tenure.toml: slots)") for line in lines)


def test_a_user_that_cannot_run_attempts_is_found(tmp_path: Path, migrated: str) -> None:
    ran = tenure(tmp_path, "doctor", "--json", "--database", migrated, TENURE_CHILD_USER="no-such-user")
    # Anybody but root could not start such a worker anyway, and need not be the user that does.
    is_root = os.geteuid() == 0
    kinds = [one for one in found(json.loads(ran.stdout), "isolation") if "no user of" in one["what"]]
    assert [(ran.returncode, one["needsPerson"]) for one in kinds] == [(int(is_root), is_root)]


def test_a_silent_worker_is_named_with_its_last_heartbeat(tmp_path: Path, migrated: str) -> None:
    on(migrated, serve)
    sql(migrated, f"UPDATE tenure.worker SET seen_at = {ago(migrated, 120)}")
    said = examined(tmp_path, migrated, 1)
    [finding] = found(said, "worker-silent")
    assert "worker ann on here (pid 7)" in finding["what"]
    assert finding["since"] is not None
    ran = tenure(tmp_path, "doctor", "--database", migrated)
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (1, "a person is needed")
    assert "problem worker-silent: worker ann" in ran.stdout


def test_a_worker_that_is_not_ready_is_found_unless_it_is_new_or_drains(
    tmp_path: Path, migrated: str
) -> None:
    on(migrated, lambda store: serve(store, ready=False))
    examined(tmp_path, migrated, 0)
    sql(migrated, f"UPDATE tenure.worker SET started_at = {ago(migrated, 120)}")
    [finding] = found(examined(tmp_path, migrated, 1), "worker-unready")
    assert "worker ann" in finding["what"]
    on(migrated, lambda store: store.drain("ann"))
    examined(tmp_path, migrated, 0)


def test_jobs_that_no_live_worker_serves_are_found(tmp_path: Path, migrated: str) -> None:
    on(migrated, enqueue_one)
    [finding] = found(examined(tmp_path, migrated, 1), "unserved")
    assert finding["what"].startswith("nobody runs mail@1: 1 job waits in queue default")
    assert finding["since"] is not None
    on(migrated, serve)
    examined(tmp_path, migrated, 0)


def test_a_pause_is_found_if_jobs_wait_under_it(tmp_path: Path, migrated: str) -> None:
    async def pause(store: Store) -> None:
        await serve(store)
        await store.pause("default", by="eve", reason="the mail server moves")

    on(migrated, pause)
    examined(tmp_path, migrated, 0)
    on(migrated, enqueue_one)
    [finding] = found(examined(tmp_path, migrated, 1), "paused")
    what = "1 job waits under the pause of queue default by eve, until it is resumed: the mail server moves"
    assert finding["what"] == what
    assert finding["cure"].endswith("`tenure queues resume default`")


def test_a_pause_that_ends_by_itself_needs_nobody(tmp_path: Path, migrated: str) -> None:
    async def pause(store: Store) -> None:
        await serve(store)
        await enqueue_one(store)
        await store.pause("default", until=await store.now() + timedelta(hours=1), by="eve")

    on(migrated, pause)
    [finding] = found(examined(tmp_path, migrated, 0), "paused")
    assert not finding["needsPerson"]


def test_a_paused_definition_is_found_too(tmp_path: Path, migrated: str) -> None:
    async def pause(store: Store) -> None:
        await serve(store)
        await enqueue_one(store)
        await store.pause(Line("default", "mail"), by="eve")

    on(migrated, pause)
    [finding] = found(examined(tmp_path, migrated, 1), "paused")
    [command] = [part for part in finding["cure"].split("`") if part.startswith("tenure ")]
    ran = tenure(tmp_path, *command.split()[1:], "--database", migrated)
    assert ran.returncode == 0, ran
    examined(tmp_path, migrated, 0)


def test_a_job_put_aside_is_named_with_the_reason(tmp_path: Path, migrated: str) -> None:
    job = on(migrated, lambda store: _put_one_aside(store, migrated))
    [finding] = found(examined(tmp_path, migrated, 1), "aside")
    assert f"job {job} is aside" in finding["what"]
    assert finding["cure"].endswith(f"`tenure jobs put-back {job}`")


async def _put_one_aside(store: Store, database: str) -> UUID:
    await serve(store)
    job = await enqueue_one(store)
    await damaged_rows.next_event(database, job)
    with pytest.raises(JobsAside):
        await claim(store)
    return job


def test_many_of_a_kind_are_counted_and_not_listed(tmp_path: Path, migrated: str) -> None:
    async def many(store: Store) -> None:
        for n in range(23):
            await enqueue_one(store, f"kind-{n}")

    on(migrated, many)
    findings = found(examined(tmp_path, migrated, 1), "unserved")
    assert len(findings) == 21
    assert findings[-1]["what"] == "and 3 lines more"


def test_leases_that_nobody_takes_back_are_found(tmp_path: Path, migrated: str) -> None:
    async def lose(store: Store) -> None:
        await enqueue_one(store)
        await claim(store)

    on(migrated, lose)
    sql(migrated, f"UPDATE tenure.lease SET expires_at = {ago(migrated, 120)}")
    [finding] = found(examined(tmp_path, migrated, 1), "overdue")
    assert "1 jobs" in finding["what"]


def test_a_clock_that_is_ahead_is_found(tmp_path: Path, migrated: str) -> None:
    def ahead(seconds: int) -> None:
        at = ago(migrated, -seconds)
        sql(
            migrated,
            f"UPDATE tenure.sequence SET n = {at} WHERE name = 'clock'"
            if migrated.startswith("sqlite:")
            else "CREATE OR REPLACE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql STABLE AS "
            f"'SELECT pg_catalog.now() + interval ''{seconds} seconds'''",
        )

    ahead(30)
    examined(tmp_path, migrated, 0)
    ahead(4000)
    [finding] = found(examined(tmp_path, migrated, 1), "clock-ahead")
    assert "s ahead of this machine's" in finding["what"]


def test_a_schema_that_does_not_fit_ends_with_6_behind_the_report(tmp_path: Path, migrated: str) -> None:
    make_newer(migrated)
    ran = tenure(tmp_path, "doctor", "--json", "--database", migrated)
    assert ran.returncode == 6
    assert ran.stderr.startswith("Error: the database has schema 9999")
    said = json.loads(ran.stdout)
    [finding] = found(said, "schema")
    assert (said["isWell"], said["store"]) == (False, [])
    assert "9999" in finding["what"]


def test_a_newer_schema_that_can_be_read_is_well(tmp_path: Path, migrated: str) -> None:
    [(newest,)] = sql(migrated, "SELECT max(number) FROM tenure.migration")
    make_newer(migrated, reads_from=newest)
    [schema] = [
        fact["value"] for fact in examined(tmp_path, migrated, 0)["store"] if fact["name"] == "schema"
    ]
    assert schema == f"newer, and compatible: it is 9999, this version of tenure knows {newest}"


def test_a_database_without_schema_ends_with_6(tmp_path: Path, postgres_database: str) -> None:
    ran = tenure(tmp_path, "doctor", "--database", postgres_database)
    assert ran.returncode == 6
    assert "problem schema: the database lacks migration 0001_schema" in ran.stdout
    assert sql(postgres_database, "SELECT FROM pg_namespace WHERE nspname = 'tenure'") == []


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    ran = tenure(tmp_path, "doctor", "--database", "sqlite:///jobs.db")
    assert ran.returncode == 6
    assert "jobs.db does not exist" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_reached_ends_with_3_and_shows_no_password(
    tmp_path: Path, unreachable: str
) -> None:
    if unreachable.startswith("sqlite:"):
        (tmp_path / "jobs.db").write_text("no database " * 100)
        unreachable = f"sqlite:///{tmp_path / 'jobs.db'}"
    ran = tenure(tmp_path, "doctor", "--json", "--database", unreachable)
    assert (ran.returncode, ran.stderr.startswith("Error: ")) == (3, True)
    said = json.loads(ran.stdout)
    assert [finding["needsPerson"] for finding in found(said, "unreachable")] == [True]
    assert "s3cret" not in ran.stdout + ran.stderr


@pytest.mark.parametrize("address", ["jobs.db", "mysql://here/jobs", "sqlite://", "postgresql://h:x/jobs"])
def test_an_address_that_names_no_database_ends_with_2(tmp_path: Path, address: str) -> None:
    assert fails(tenure(tmp_path, "doctor", "--database", address), 2, "database")


def test_a_bad_setting_ends_with_2(tmp_path: Path) -> None:
    assert fails(tenure(tmp_path, "doctor", TENURE_SLOTS="many"), 2, "TENURE_SLOTS", "whole number")


def test_a_message_queue_that_cannot_be_received_from_is_found(tmp_path: Path, migrated: str) -> None:
    """For a minute it is a notice; when messages come again it is gone."""

    async def away(store: Store) -> None:
        await serve(store)
        await store.note_receiver("ann", "https://sqs.example/1/jobs", "SQS: receive_message: no such queue")

    on(migrated, away)
    [finding] = found(examined(tmp_path, migrated, 0), "messages-away")
    assert finding["what"].endswith("and goes on by sweeps alone: SQS: receive_message: no such queue")
    assert "TENURE_SQS_QUEUE_URL" in finding["cure"]

    sql(migrated, f"UPDATE tenure.receiver SET failing_at = {ago(migrated, 61)}")
    [finding] = found(examined(tmp_path, migrated, 1), "messages-away")
    assert finding["needsPerson"]

    on(migrated, lambda store: store.note_receiver("ann", "https://sqs.example/1/jobs", None))
    assert found(examined(tmp_path, migrated, 0), "messages-away") == []
