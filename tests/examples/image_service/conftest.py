"""A cloud for the tests of a process, and a service on a database of each kind for those of a module."""

from collections.abc import AsyncIterator, Mapping
from uuid import uuid4

import pytest

from tests.examples.image_service.cloud import Cloud, running_cloud
from tests.examples.image_service.running_service import RunningService, running_service
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated


@pytest.fixture(scope="session")
async def cloud(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Cloud]:
    """The cloud of all tests that do not kill it."""
    async with running_cloud(tmp_path_factory.mktemp("cloud")) as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('images') / 'jobs.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return create_migrated(server, f"images_{uuid4().hex}")


@pytest.fixture(scope="module")
def variables(cloud: Cloud, database: str) -> Mapping[str, str]:
    """What leads processes to the cloud and to the database."""
    return {**cloud.variables, "TENURE_DATABASE": database}


@pytest.fixture(scope="module")
async def service(
    variables: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunningService]:
    """An API and a worker."""
    async with running_service(variables, tmp_path_factory.mktemp("service")) as running:
        yield running
