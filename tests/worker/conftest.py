"""Databases whose clock is real."""

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tenure.storage.address import store_for
from tenure.storage.contract import Store
from tests.postgres_server import PostgresServer
from tests.storage.migrated import create_migrated
from tests.worker.passable import IS_ROOT

collect_ignore = [] if IS_ROOT else ["test_child_user.py"]
"""Only root can give others to its children."""


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a database of each kind is, without a job."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tenure.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return create_migrated(server, f"worker_{secrets.token_hex(4)}")


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    """A store opened on it, with its schema."""
    opened = store_for(address)
    await opened.open()
    await opened.migrate()
    yield opened
    await opened.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for what attempts write, where everybody may."""
    made = Path(tempfile.mkdtemp(prefix="tenure-secrets-", dir="/tmp"))
    made.chmod(0o1777)
    yield made
    shutil.rmtree(made)
