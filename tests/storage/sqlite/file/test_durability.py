"""How durable a commit is: synced to disk unless the caller chose less."""

from pathlib import Path

import pytest

from tenure.storage.sqlite.file.connection import Durability, Opening
from tenure.storage.sqlite.store import SqliteStore

SYNCS = {"full": 2, "normal": 1}
"""What SQLite calls them."""


async def syncs_of(store: SqliteStore) -> object:
    """How the connection that writes syncs."""
    await store.open()
    try:
        return await store._writer.run(lambda connection, _: connection.pragma("synchronous"))
    finally:
        await store.close()


async def test_who_asks_for_nothing_gets_a_sync_for_every_commit(tmp_path: Path) -> None:
    assert await syncs_of(SqliteStore(tmp_path / "tenure.db")) == SYNCS["full"]
    assert Opening().durability == "full"


@pytest.mark.parametrize("durability_", ["full", "normal"])
async def test_a_store_syncs_as_it_was_asked_to(tmp_path: Path, durability_: Durability) -> None:
    assert await syncs_of(SqliteStore(tmp_path / "tenure.db", durability=durability_)) == SYNCS[durability_]
