"""A queue on a server, for each test; databases whose clock is real."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tenure.relay.messages import sqs
from tests.relay.messages.sqs_server import Queue, SqsServer, new_queue, pointed_at, running_server
from tests.worker.conftest import address, store

__all__ = ["address", "store"]


@pytest.fixture(scope="session")
def shared_server() -> Iterator[SqsServer]:
    """A server for all tests of the process that do not stop it."""
    with running_server() as server:
        yield server


@pytest.fixture
async def queue(shared_server: SqsServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Queue]:
    """An empty queue. On a busy machine its server may stand still for longer than SQS ever should.

    A worker would rightly take it for away then, and claim by sweeps; tests say which claims they expect.
    """
    monkeypatch.setattr(sqs, "CONNECT_WITHIN", 60)
    monkeypatch.setattr(sqs, "ANSWER_WITHIN", 180)
    with pointed_at(shared_server):
        async with new_queue(shared_server) as made:
            yield made
