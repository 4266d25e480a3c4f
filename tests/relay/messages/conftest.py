"""A queue on a server, for each test; databases whose clock is real."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.relay.messages.sqs_server import Queue, SqsServer, new_queue, pointed_at, running_server
from tests.worker.conftest import address, store

__all__ = ["address", "store"]


@pytest.fixture(scope="session")
def shared_server() -> Iterator[SqsServer]:
    """A server for all tests of the process that do not stop it."""
    with running_server() as server:
        yield server


@pytest.fixture
async def queue(shared_server: SqsServer) -> AsyncIterator[Queue]:
    """An empty queue."""
    with pointed_at(shared_server):
        async with new_queue(shared_server) as made:
            yield made
