"""`tenure doctor` finds rows that were changed by hand, and names the jobs."""

from pathlib import Path

import pytest

from tenure.core.model.lease import Line
from tenure.core.model.limit import Limit
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, enqueue_one, job_in
from tests.surfaces.cli.calls.examination import examined, found, serve
from tests.surfaces.command import sql
from tests.surfaces.store_behind import on

pytestmark = pytest.mark.both_stores


def facts(folder: Path, database: str, code: int, *options: str) -> dict[str, str]:
    """What is said of the store."""
    return {fact["name"]: fact["value"] for fact in examined(folder, database, code, *options)["store"]}


@pytest.mark.parametrize(
    ("state", "table", "kind", "cure"),
    [
        (State.QUEUED, "ready", "no-place", "tenure jobs cancel"),
        (State.RETRYING, "timer", "no-timer", "tenure jobs cancel"),
        (State.RUNNING, "lease", "no-lease", "tenure jobs put-back"),
    ],
)
def test_a_job_that_nothing_moves_on_is_named(
    tmp_path: Path, migrated: str, state: State, table: str, kind: str, cure: str
) -> None:
    async def prepare(store: Store) -> str:
        await serve(store, Line("default", str(state)))
        return str(await job_in(store, state))

    job = on(migrated, prepare)
    examined(tmp_path, migrated, 0)
    sql(migrated, f"DELETE FROM tenure.{table}")
    [finding] = found(examined(tmp_path, migrated, 1), kind)
    assert f"job {job}" in finding["what"]
    assert finding["since"] is not None
    assert f"{cure} {job}" in finding["cure"]


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
