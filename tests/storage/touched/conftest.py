"""Makes databases with a past, of each kind."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.storage.backends import server_for
from tests.storage.touched.history import Past, PastBackend, Scene, set_scene
from tests.storage.touched.postgres import PostgresPast
from tests.storage.touched.sqlite import SqlitePast

Made = tuple[PastBackend, Scene]
Make = Callable[[Past], Awaitable[Made]]


@pytest.fixture
async def make(request: pytest.FixtureRequest, database_kind: str, tmp_path: Path) -> AsyncIterator[Make]:
    """Makes databases with a past."""
    made: list[PastBackend] = []

    async def one(past: Past) -> Made:
        if database_kind == "sqlite":
            made.append(SqlitePast(tmp_path / f"{len(made)}.db"))
        else:
            made.append(PostgresPast(server_for(request, database_kind)))
        await made[-1].prepare()
        return made[-1], await set_scene(made[-1], past)

    yield one
    for backend in made:
        await backend.dispose()
