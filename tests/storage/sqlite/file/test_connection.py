"""How the file is opened: durable at every commit, and readable beside the writer."""

import asyncio
import os
import stat
from pathlib import Path

import apsw
import pytest

from tenure.storage.sqlite.file.connection import open_reader, open_writer
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults.sqlite_stores import opened


def test_the_writer_syncs_every_commit_to_disk(tmp_path: Path) -> None:
    """S3.28, S3.61: in write-ahead mode only FULL keeps what was committed through a power cut."""
    connection = open_writer(tmp_path / "tenure.db")
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    connection.close()


def test_a_reader_cannot_write_and_does_not_wait_for_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    writer = open_writer(path)
    writer.execute("CREATE TABLE note (n INTEGER); INSERT INTO note VALUES (1)")
    writer.execute("BEGIN IMMEDIATE; INSERT INTO note VALUES (2)")
    reader = open_reader(path)
    assert reader.execute("SELECT count(*) FROM note").get == 1
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("INSERT INTO note VALUES (3)")
    writer.execute("COMMIT")
    reader.close()
    writer.close()


async def test_the_file_and_what_lies_beside_it_are_for_their_owner_alone(tmp_path: Path) -> None:
    """Whatever the process would let others read by default, and also where the name is a link to nothing."""
    (tmp_path / "link.db").symlink_to(tmp_path / "behind.db")
    before = os.umask(0o022)
    try:
        for name in ("tenure.db", "link.db"):
            async with opened(tmp_path / name):
                rights = _rights(tmp_path)
            assert {made.partition("-")[2] for made in rights} >= {"", "wal", "shm"}
            assert set(rights.values()) == {0o600}
    finally:
        os.umask(before)


async def test_a_file_that_is_there_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    path.touch()
    path.chmod(0o640)
    async with opened(path):
        assert _rights(tmp_path)["tenure.db"] == 0o640


def _rights(folder: Path) -> dict[str, int]:
    """Of every file, by its name."""
    return {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if not path.is_symlink()
    }


async def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(5):
        stores = [SqliteStore(tmp_path / f"{attempt}.db") for _ in range(8)]
        await asyncio.gather(*(store.open() for store in stores))
        await asyncio.gather(*(store.migrate() for store in stores))
        await asyncio.gather(*(store.close() for store in stores))
