"""`tenure doctor` finds rows that were changed by hand, and names the jobs."""

from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, job_in, state_of
from tests.surfaces.cli.calls.examination import examined, found, serve
from tests.surfaces.command import answering, fails, sql, tenure
from tests.surfaces.store_behind import on

pytestmark = pytest.mark.both_stores


def facts(folder: Path, database: str, code: int, *options: str) -> dict[str, str]:
    """What is said of the store."""
    return {fact["name"]: fact["value"] for fact in examined(folder, database, code, *options)["store"]}


@pytest.mark.parametrize(
    ("state", "table", "kind", "after"),
    [
        (State.QUEUED, "ready", "no-place", State.QUEUED),
        (State.RETRYING, "timer", "no-timer", State.RETRYING),
        (State.RUNNING, "lease", "no-lease", State.QUEUED),
    ],
)
def test_a_job_that_nothing_moves_on_is_named_and_mended_by_its_cure(
    tmp_path: Path, migrated: str, state: State, table: str, kind: str, after: State
) -> None:
    """Each change is in the audit log, with what came of it."""

    async def prepare(store: Store) -> str:
        await serve(store, Line("default", str(state)))
        return str(await job_in(store, state))

    job = on(migrated, prepare)
    examined(tmp_path, migrated, 0)
    sql(migrated, f"DELETE FROM tenure.{table}")
    [finding] = found(examined(tmp_path, migrated, 1), kind)
    assert f"job {job}" in finding["what"]
    assert finding["since"] is not None
    assert (finding["job"], "`tenure doctor --mend`" in finding["cure"]) == (job, True)
    said = examined(tmp_path, migrated, 0, "--mend", "--yes")
    assert [(one["kind"], one["job"], one["outcome"]) for one in said["mended"]] == [(kind, job, "mended")]
    assert on(migrated, lambda store: state_of(store, UUID(job))) is after
    entries = sql(migrated, "SELECT action, target, outcome FROM tenure.audit")
    assert entries == [("doctor mend", f"{kind} {job}", "mended")]
    assert examined(tmp_path, migrated, 0, "--mend")["mended"] == []


def test_mending_asks_and_does_nothing_without_a_yes(tmp_path: Path, migrated: str) -> None:
    """Without a terminal nobody can be asked, and the command says what to give."""

    async def prepare(store: Store) -> None:
        await serve(store)
        await enqueue_one(store)

    on(migrated, prepare)
    sql(migrated, "DELETE FROM tenure.ready")
    command = ("doctor", "--mend", "--database", migrated)
    assert fails(tenure(tmp_path, *command), 2, "1 no-place", "--yes")
    code, said = answering(tmp_path, "n\n", *command)
    assert (code, "Mend all of these" in said, "nothing was mended" in said) == (1, True, True)
    assert sql(migrated, "SELECT count(*) FROM tenure.ready") == [(0,)]
    code, said = answering(tmp_path, "y\n", *command)
    assert (code, "mended no-place" in said, "it is in line again" in said) == (0, True, True)
    assert tenure(tmp_path, "doctor", "--yes", "--database", migrated).returncode == 2


def test_what_the_database_refuses_is_left_for_a_person(tmp_path: Path, migrated: str) -> None:
    """The others are mended all the same."""

    async def prepare(store: Store) -> tuple[UUID, UUID, UUID]:
        await serve(store)
        return await enqueue_one(store), await enqueue_one(store), await enqueue_one(store)

    job, thief, other = on(migrated, prepare)
    sql(migrated, f"DELETE FROM tenure.ready WHERE job IN ('{thief}', '{other}')")
    sql(migrated, f"UPDATE tenure.ready SET job = '{thief}' WHERE job = '{job}'")
    said = examined(tmp_path, migrated, 1, "--mend", "--yes")
    outcomes = {one["job"]: one["outcome"] for one in said["mended"]}
    assert outcomes == {str(job): "refused", str(thief): "mended", str(other): "mended"}
    [left] = found(said, "no-place")
    assert left["job"] == str(job)


def test_places_that_no_job_holds_are_freed_behind_the_jobs(tmp_path: Path, migrated: str) -> None:
    """A job without a lease frees its own place; what is left then belongs to nobody."""

    async def prepare(store: Store) -> None:
        await serve(store)
        await enqueue_one(store, limits=(Limit("mailbox", "ann", 3),))
        await claim(store)

    on(migrated, prepare)
    sql(migrated, "DELETE FROM tenure.lease")
    sql(
        migrated,
        "UPDATE tenure.limited SET held = 2"
        if "sqlite" in migrated
        else "UPDATE tenure.slot SET is_held = (n < 3)",
    )
    said = examined(tmp_path, migrated, 0, "--mend", "--yes")
    kinds = [(one["kind"], one["outcome"]) for one in said["mended"]]
    assert kinds == [("no-lease", "mended"), ("slot-held", "mended")]
    assert "1 place is free again" in said["mended"][-1]["what"]


def test_a_place_that_nobody_holds_is_named_with_its_limit(tmp_path: Path, migrated: str) -> None:
    async def prepare(store: Store) -> None:
        await serve(store)
        await enqueue_one(store, limits=(Limit("mailbox", "ann", 1),))
        await claim(store)

    on(migrated, prepare)
    examined(tmp_path, migrated, 0)
    sql(
        migrated,
        "UPDATE tenure.lease SET jobs = '[]'"
        if "sqlite" in migrated
        else "UPDATE tenure.lease SET jobs = '{}'",
    )
    [finding] = found(examined(tmp_path, migrated, 1), "slot-held")
    assert "1 place under limit mailbox with key ann" in finding["what"]


def test_with_deep_all_are_looked_at_and_counted(tmp_path: Path, migrated: str) -> None:
    async def prepare(store: Store) -> None:
        await serve(store)
        for _ in range(22):
            await enqueue_one(store)

    on(migrated, prepare)
    assert facts(tmp_path, migrated, 0)["looked at"] == "22 jobs, all"
    assert facts(tmp_path, migrated, 0, "--deep")["stuck"] == "0 jobs in all"
    sql(migrated, "DELETE FROM tenure.ready")
    findings = found(examined(tmp_path, migrated, 1, "--deep"), "no-place")
    assert (len(findings), findings[-1]["what"]) == (21, "and 2 jobs more")
    assert facts(tmp_path, migrated, 1, "--deep")["stuck"] == "22 jobs in all"
