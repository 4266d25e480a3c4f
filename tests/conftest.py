"""What every folder of tests may ask for."""

from collections.abc import Iterator

import pytest

from tests.postgres_server import PostgresServer

pytest_plugins = ["tests.contract_counts"]


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run, started when the first test asks for it."""
    with PostgresServer() as server:
        yield server
