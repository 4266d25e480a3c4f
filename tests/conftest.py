"""What every folder of tests may ask for."""

import os
from collections.abc import Iterator

import pytest

from tests.postgres_server import DSN_VARIABLE, PostgresServer
from tests.postgres_versions import NEWEST, USUAL, binaries_of

pytest_plugins = ["tests.contract_counts"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run, started when the first test asks for it."""
    with PostgresServer(None if os.environ.get(DSN_VARIABLE) else binaries_of(USUAL)) as server:
        yield server


@pytest.fixture(scope="session")
def newest_postgres_server() -> Iterator[PostgresServer]:
    """A second one, of the newest version that is supported."""
    with PostgresServer(binaries_of(NEWEST)) as server:
        yield server
