"""A server with its pages, on each kind of store."""

from collections.abc import AsyncIterator

import pytest

from tenure.storage.contract.store import Store
from tests.surfaces.dashboard.browser_user import EVERY
from tests.surfaces.http.http_server import Api, register, serving
from tests.surfaces.store_behind import MAIL


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    """A server with its usual limits, which is known as jobs.example, too; `mail` takes `{"to": text}`."""
    await register(store, MAIL)
    async with serving(store, routes=EVERY, hosts=["jobs.example"]) as running:
        yield running
