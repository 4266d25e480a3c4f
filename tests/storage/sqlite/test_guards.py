"""What only SQLite can be asked: INSERT OR REPLACE deletes the row in its way without asking a trigger."""

import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend, Refused
from tests.storage.verbs import job_in, record_of

AGAIN = """
    INSERT OR REPLACE INTO tenure.job_state (id, line, rank, max_attempts, state, n, updated_at)
    SELECT id, line, rank, max_attempts, 'queued', 1, updated_at FROM tenure.job_state
"""


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_no_state_row_is_replaced_by_a_new_one(store: Store, backend: Backend) -> None:
    """S0.15, S2.16: a finished job does not begin anew by way of a replacement."""
    job = await job_in(store, State.SUCCEEDED)
    before = await record_of(store, job)
    with pytest.raises(Refused):
        await backend.sql(AGAIN)
    assert await record_of(store, job) == before
