"""Databases whose clock is real."""

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated
from tests.worker.child_user_access import IS_ROOT

collect_ignore = [] if IS_ROOT else ["test_child_user.py"]
"""Only root can start children as another user."""


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tenure.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return create_migrated(server, f"worker_{secrets.token_hex(4)}")


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    """An open store at this address, with its schema."""
    opened = store_for(address)
    await opened.open()
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder to which every user, and so every attempt, may write."""
    made = Path(tempfile.mkdtemp(prefix="tenure-secrets-", dir="/tmp"))
    made.chmod(0o1777)
    yield made
    shutil.rmtree(made)
