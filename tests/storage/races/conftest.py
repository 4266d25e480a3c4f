"""Alice and Bob: two processes with a store each on the test's database."""

from collections.abc import AsyncIterator

import pytest

from tests.storage.backends import Backend
from tests.storage.races.two_processes import Stage, acting


@pytest.fixture
async def stage(backend: Backend) -> AsyncIterator[Stage]:
    """The database and both processes."""
    async with acting(backend, "alice") as alice, acting(backend, "bob") as bob:
        yield Stage(backend, alice, bob)
