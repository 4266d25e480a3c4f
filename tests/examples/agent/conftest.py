"""Databases whose clock is real, and the books of the services that the agent uses."""

from pathlib import Path

import pytest

from examples.agent import tools
from tests.worker.conftest import address, store

__all__ = ["address", "store"]


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of these books, which processes of the test use too; services answer at once."""
    path = tmp_path / "books.db"
    monkeypatch.setenv(tools.BOOKS, str(path))
    monkeypatch.setenv(tools.PAUSE, "0")
    return path
