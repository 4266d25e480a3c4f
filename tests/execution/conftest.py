"""A lane for each file of tests: attempts do not see each other in any case."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tenure.execution.parent.process_lane import ProcessLane
from tests.execution.attempts import opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lane() -> AsyncIterator[ProcessLane]:
    """One whose handlers behave."""
    async with opened("tests.execution.sample_app:app") as lane:
        yield lane


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hostile() -> AsyncIterator[ProcessLane]:
    """One whose handlers do not."""
    async with opened("tests.execution.hostile_app:app") as lane:
        yield lane
