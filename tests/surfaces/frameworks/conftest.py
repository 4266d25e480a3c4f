"""A database of PostgreSQL, for what only its transactions can show."""

from uuid import uuid4

import pytest

from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated


@pytest.fixture
def migrated_postgres(postgres_server: PostgresServer) -> str:
    """The address of a database with the schema, and nothing in it."""
    return create_migrated(postgres_server, f"web_{uuid4().hex}")
