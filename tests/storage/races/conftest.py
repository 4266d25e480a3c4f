"""Alice and Bob: two processes with a store each on the test's database."""

from collections.abc import AsyncIterator

import pytest

from tests.storage.backends import Backend
from tests.storage.races.stage import Stage, acting


@pytest.fixture
async def stage(backend: Backend) -> AsyncIterator[Stage]:
    """The database and the two."""
    async with acting(backend, "alice") as alice, acting(backend, "bob") as bob:
        yield Stage(backend, alice, bob)
