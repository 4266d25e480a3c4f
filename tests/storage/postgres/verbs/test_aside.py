"""Which jobs are put aside on PostgreSQL: only errors about data count."""

from collections.abc import AsyncIterator

import pytest

from tenure.core.errors import StoreError
from tenure.core.model.aside import JobsAside
from tenure.core.model.lease import Order
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.storage import damaged_rows
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.conftest import each_version
from tests.storage.verbs import MAIL, claim, count, enqueue_one, settle, state_of, succeeded

database_kind = each_version
OURS = {"TN001": "our guards", "22003": "a number out of range", "23514": "a check"}
NOBODYS = {
    "25006": "a server that only reads",
    "42501": "a right that is missing",
    "XX000": "an error inside the server",
    "40001": "a collision",
    "40P01": "a deadlock",
    "53100": "a full disk",
    "57014": "a statement that was cancelled",
    "58030": "a disk that fails",
    "42703": "a column that is not there",
}


@pytest.fixture
async def failing(backend: PostgresBackend, code: str) -> AsyncIterator[None]:
    """A database in which recording an event fails with this error."""
    await backend.sql(f"""
        CREATE FUNCTION tenure.fail() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{code}'; END$$""")
    await backend.sql("""
        CREATE TRIGGER fail BEFORE INSERT ON tenure.event FOR EACH ROW EXECUTE FUNCTION tenure.fail()""")
    yield
    await backend.sql("DROP FUNCTION tenure.fail() CASCADE")


@pytest.mark.parametrize("code", NOBODYS)
@pytest.mark.usefixtures("failing")
async def test_what_is_not_the_datas_fault_puts_nobody_aside(
    store: PostgresStore, backend: PostgresBackend
) -> None:
    job = await enqueue_one(store)
    with pytest.raises(StoreError) as refused:
        await claim(store)
    assert not isinstance(refused.value, JobsAside)
    assert await count(backend, "tenure.aside") == 0
    assert await state_of(store, job) is State.QUEUED
    assert (await store.outlook([MAIL])).waiting


@pytest.mark.parametrize("code", OURS)
@pytest.mark.usefixtures("failing")
async def test_what_is_the_datas_fault_is_told_by_its_code(
    store: PostgresStore, backend: PostgresBackend, code: str
) -> None:
    job = await enqueue_one(store)
    with pytest.raises(JobsAside) as met:
        await claim(store)
    assert [(one.job, one.code) for one in met.value.asides] == [(job, code)]
    assert await count(backend, "tenure.aside") == 1


async def test_a_search_that_fails_puts_nobody_aside(store: PostgresStore, backend: PostgresBackend) -> None:
    """Not even the jobs that it had found already."""
    for _ in range(2):
        await enqueue_one(store)
    batch = await claim(store)
    for one in batch:
        await damaged_rows.next_event(backend.address, one.lease.job)
    await backend.sql("""
        CREATE FUNCTION tenure.fail() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN IF (SELECT count(*) FROM tenure.aside) > 0 THEN
            RAISE EXCEPTION 'no' USING ERRCODE = 'XX000'; END IF; RETURN NEW; END$$""")
    await backend.sql("""
        CREATE TRIGGER fail BEFORE INSERT ON tenure.aside FOR EACH ROW EXECUTE FUNCTION tenure.fail()""")
    try:
        with pytest.raises(StoreError) as refused:
            await settle(store, map(succeeded, batch))
        assert not isinstance(refused.value, JobsAside)
        assert await count(backend, "tenure.aside") == 0
    finally:
        await backend.sql("DROP FUNCTION tenure.fail() CASCADE")


async def test_who_is_locked_by_others_is_not_blamed_for_a_neighbour(
    store: PostgresStore, backend: PostgresBackend
) -> None:
    """Jobs locked by another transaction are passed over in the search as in the claim."""
    jobs = [await enqueue_one(store) for _ in range(4)]
    await damaged_rows.next_event(backend.address, jobs[2])
    other = await backend.connect()
    await other.execute("BEGIN")
    await other.execute("SELECT FROM tenure.job_state WHERE id = $1 FOR UPDATE", jobs[1])
    try:
        with pytest.raises(JobsAside) as met:
            await claim(store)
        assert [one.job for one in met.value.asides] == [jobs[2]]
        turn = await store.settle_and_claim([], Order(worker="a", lines=(MAIL,), limit=10))
        assert [one.lease.job for one in turn.claimed] == [jobs[0], jobs[3]]
    finally:
        await other.close()
