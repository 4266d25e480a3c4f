"""A server on each kind of store, which knows of two definitions."""

from collections.abc import AsyncIterator

import pytest

from tenure.core.model.spec import Spec
from tenure.storage.contract.store import Store
from tests.surfaces.http.http_server import Api, register, serving
from tests.surfaces.store_behind import MAIL


@pytest.fixture
async def api(store: Store) -> AsyncIterator[Api]:
    """A server with its usual limits; `mail` takes `{"to": text}`, `bill` any object."""
    await register(store, MAIL, Spec(key="bill", priority=5))
    async with serving(store) as running:
        yield running
