"""`tenure doctor` shows what the server, or the file and its disk, look like."""

import os
from pathlib import Path

import pytest

from tests.storage.faults.small_disk import small_disk
from tests.surfaces.cli.calls.examination import examined, found
from tests.surfaces.command import tenure
from tests.surfaces.store_behind import on

pytestmark = pytest.mark.both_stores


def test_the_vital_figures_are_among_the_facts(tmp_path: Path, migrated: str) -> None:
    names = {fact["name"] for fact in examined(tmp_path, migrated, 0)["store"]}
    sqlite = {"file", "log (WAL)", "disk"}
    postgres = {"connections", "notify queue", "table job_state", "table ready"}
    assert (sqlite if migrated.startswith("sqlite:") else postgres) <= names


def test_a_log_that_has_grown_large_is_found(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.db'}"
    tenure(tmp_path, "migrate", "--database", database)
    with (tmp_path / "jobs.db-wal").open("wb") as log:
        log.truncate(300 * 2**20)
    [finding] = found(examined(tmp_path, database, 1), "log-large")
    assert "300.0 MiB" in finding["what"]


def test_the_time_of_the_last_checkpoint_is_shown(tmp_path: Path) -> None:
    """A checkpoint writes to the file itself, and nothing else does."""
    file = tmp_path / "jobs.db"
    database = f"sqlite:///{file}"
    tenure(tmp_path, "migrate", "--database", database)
    os.utime(file, (0, 86_400))
    facts = examined(tmp_path, database, 0)["store"]
    [shown] = [fact["value"] for fact in facts if fact["name"] == "checkpoint"]
    assert shown == "the last one wrote to the file 1970-01-02 00:00:00Z"


def test_a_disk_with_little_room_is_found_and_its_kind_shown() -> None:
    with small_disk(64) as disk:
        database = f"sqlite:///{disk / 'jobs.db'}"
        on(database, lambda store: store.verify())
        said = examined(disk, database, 1)
        assert len(found(said, "disk-full")) == 1
        [shown] = [fact["value"] for fact in said["store"] if fact["name"] == "disk"]
        assert shown.endswith("file system tmpfs")
