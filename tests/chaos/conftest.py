"""The stores of the storage suite, with a clock that tests move by hand; and a server that may be crashed."""

from collections.abc import Iterator

import pytest

from tests.storage.conftest import database_kind
from tests.storage.faults.own_server import OwnServer

__all__ = ["database_kind"]


@pytest.fixture(scope="session")
def server() -> Iterator[OwnServer]:
    """A server for runs, each of which has a database of its own there; it serves again after each."""
    with OwnServer() as started:
        yield started
