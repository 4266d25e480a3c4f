"""An app on a database of each kind, and a store on the same database, as a worker would have it."""

from collections.abc import AsyncIterator

import pytest

from tenure import Tenure
from tenure.settings.settings import Settings
from tests.storage.backends import Backend


@pytest.fixture
async def app(backend: Backend) -> AsyncIterator[Tenure]:
    """An app without definitions."""
    made = Tenure(backend.address, settings=Settings())
    yield made
    await made.close()
