"""Databases on the real clock, and a receiver."""

from collections.abc import AsyncIterator

import pytest

from tests.relay.receiver import Receiver, receiving
from tests.worker.conftest import address, store

__all__ = ["address", "receiver", "store"]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver on this machine, which answers 200 unless it is told otherwise."""
    async with receiving() as opened:
        yield opened
