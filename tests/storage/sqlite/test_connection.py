"""How the file is opened: durable at every commit, and readable beside the writer."""

import asyncio
from pathlib import Path

import apsw
import pytest

from tenure.storage.sqlite.connection import open_reader, open_writer
from tenure.storage.sqlite.store import SqliteStore


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


async def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(5):
        stores = [SqliteStore(tmp_path / f"{attempt}.db") for _ in range(8)]
        await asyncio.gather(*(store.open() for store in stores))
        await asyncio.gather(*(store.migrate() for store in stores))
        await asyncio.gather(*(store.close() for store in stores))
