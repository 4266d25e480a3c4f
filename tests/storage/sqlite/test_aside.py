"""What is never put aside on SQLite: jobs that meet a database which fails for its own reasons."""

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.aside import JobsAside
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage import damaged_rows
from tests.storage.backends import Backend
from tests.storage.verbs import MAIL, claim, count, enqueue_one, state_of

FAULTS = {
    "a bug": "SELECT no_such_function()",
    "a table that is not there": "INSERT INTO tenure.nowhere VALUES (1)",
}


@pytest.fixture
def database_kind() -> str:
    """Only this one."""
    return "sqlite"


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_is_not_the_datas_fault_puts_nobody_aside(
    store: Store, backend: Backend, fault: str
) -> None:
    job = await enqueue_one(store)
    await backend.sql(f"CREATE TRIGGER fail BEFORE INSERT ON tenure.event BEGIN {FAULTS[fault]}; END")
    with pytest.raises(StoreError) as refused:
        await claim(store)
    assert not isinstance(refused.value, JobsAside)
    assert await count(backend, "tenure.aside") == 0
    assert await state_of(store, job) is State.QUEUED
    assert (await store.outlook([MAIL])).waiting


async def test_the_databases_own_word_for_it_is_kept(store: Store, backend: Backend) -> None:
    await damaged_rows.next_event(backend.address, await enqueue_one(store))
    with pytest.raises(JobsAside) as met:
        await claim(store)
    [aside] = met.value.asides
    assert (aside.code, aside.text) == (
        "SQLITE_CONSTRAINT_TRIGGER",
        "tenure: event: what is on record stays as it is",
    )
