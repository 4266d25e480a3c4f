"""A server with its pages, on each kind of store."""

from collections.abc import AsyncIterator

import pytest

from tenure.storage.contract import Store
from tests.surfaces.dashboard.visiting import EVERY
from tests.surfaces.http.serving import Api, register, serving
from tests.surfaces.keeping import MAIL


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    """A server with its usual limits, which is known as jobs.example, too; `mail` takes `{"to": text}`."""
    await register(store, MAIL)
    async with serving(store, routes=EVERY, hosts=["jobs.example"]) as running:
        yield running
