"""A lane for each file of tests: attempts do not see each other in any case."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tenure.execution.lane import ProcessLane
from tests.execution.attempts import lane_of


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lane() -> AsyncIterator[ProcessLane]:
    """One whose handlers behave."""
    lane = lane_of("tests.execution.sample:app")
    await lane.start()
    yield lane
    await lane.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hostile() -> AsyncIterator[ProcessLane]:
    """One whose handlers do not."""
    lane = lane_of("tests.execution.hostile:app")
    await lane.start()
    yield lane
    await lane.close()
