"""A store with every way to back it up, and a second server to restore into."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tenure.storage.contract.store import Store
from tests.postgres_server import PostgresServer
from tests.postgres_versions import USUAL, binaries_of
from tests.storage.restores.backups import Backup, Dump, ShellBackup, Vacuum, opened


@pytest.fixture(scope="session")
def new_server() -> Iterator[PostgresServer]:
    """A server on which nothing has happened yet."""
    with PostgresServer(binaries_of(USUAL)) as server:
        yield server


@pytest.fixture(params=["pg_dump", "backup", "vacuum"])
def backup(request: pytest.FixtureRequest, tmp_path: Path) -> Backup:
    """Every way to back a store up."""
    match request.param:
        case "pg_dump":
            return Dump(request.getfixturevalue("postgres_server"), request.getfixturevalue("new_server"))
        case "backup":
            return ShellBackup(tmp_path)
        case _:
            return Vacuum(tmp_path)


@pytest.fixture
async def old(backup: Backup) -> AsyncIterator[Store]:
    """The store that is going to be lost."""
    store = await opened(await backup.prepare())
    yield store
    await store.close()
