"""A server that may be crashed."""

from collections.abc import Iterator

import pytest

from tests.storage.faults.own_server import OwnServer


@pytest.fixture(scope="session")
def server() -> Iterator[OwnServer]:
    """A server for runs, each of which has a database of its own there; it serves again after each."""
    with OwnServer() as started:
        yield started
