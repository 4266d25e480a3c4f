"""A fresh file that one process migrates while another one opens it."""

from pathlib import Path

import pytest

from tenure.core.errors import SchemaMismatch
from tenure.storage.address import verify_while_migrated
from tenure.storage.schema import migration
from tenure.storage.schema.migration import Fit
from tenure.storage.sqlite import schema
from tenure.storage.sqlite.store import SqliteStore

LOOKS = 2


class MigratedMeanwhile(SqliteStore):
    """Finds one more migration at each look, as far as another process comes."""

    comes_to = len(migration.known(schema.PACKAGE))
    looks = 0

    async def verify(self) -> Fit:
        self.looks += 1
        if self.looks <= self.comes_to:
            await self._writer.run(schema.apply_next)
        return await super().verify()


async def test_a_file_is_waited_for_while_its_migrations_go_on(tmp_path: Path) -> None:
    """However long all of them take."""
    store = MigratedMeanwhile(tmp_path / "new.db")
    await store.open()
    assert store.comes_to > LOOKS + 1
    await verify_while_migrated(store, LOOKS)
    assert store.looks == store.comes_to
    await store.close()


async def test_a_file_whose_migrations_have_stopped_does_not_fit(tmp_path: Path) -> None:
    store = MigratedMeanwhile(tmp_path / "new.db")
    await store.open()
    store.comes_to = 3
    with pytest.raises(SchemaMismatch, match="lacks migration 0004"):
        await verify_while_migrated(store, LOOKS)
    assert store.looks == store.comes_to + LOOKS - 1
    await store.close()
