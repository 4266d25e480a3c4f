"""The stores' own tests run on the newest PostgreSQL too."""

import pytest

from tests.contract_counts import STORES


@pytest.fixture(params=STORES)
def database_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of store, and of PostgreSQL two versions."""
    named: str = request.param
    return named
