"""What PostgreSQL alone needs of its schema: a catalogue on file, and guards against TRUNCATE."""

from uuid import uuid4

import asyncpg
import pytest

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tenure.storage.postgres import schema
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.schema.guards import RECORDS
from tests.storage.backends import PostgresBackend, server_for
from tests.storage.postgres.conftest import each_version
from tests.storage.verbs import job_in, record_of
from tools.catalogue import FILE, made_by_migrations

database_kind = each_version


@pytest.fixture
def empty(request: pytest.FixtureRequest, database_kind: str) -> str:
    """An empty database, for the test alone."""
    return server_for(request, database_kind).create_database(f"schema_{uuid4().hex}")


async def test_the_catalogue_on_file_is_what_the_migrations_make(empty: str) -> None:
    assert FILE.read_text() == await made_by_migrations(empty), "run `make states`"


async def test_a_session_that_looks_into_our_schema_by_itself_is_verified_as_well(empty: str) -> None:
    """PostgreSQL writes names according to the session's search path."""
    await made_by_migrations(empty)
    connection = await asyncpg.connect(empty)
    name = await connection.fetchval("SELECT current_database()")
    await connection.execute(f'ALTER DATABASE "{name}" SET search_path TO tenure, public')
    await connection.close()
    store = PostgresStore(empty)
    await store.open()
    await store.verify()
    await store.close()


async def test_a_session_that_may_not_write_finds_a_database_up_to_date(empty: str) -> None:
    """An operator who runs the SQL by hand may give programs fewer rights."""
    await made_by_migrations(empty)
    connection = await asyncpg.connect(empty, server_settings={"default_transaction_read_only": "on"})
    assert await schema.apply_next(connection) is None
    await schema.verify(connection)
    await connection.close()


@pytest.mark.parametrize("table", ["job_state", *RECORDS])
async def test_nothing_on_record_can_be_truncated(store: Store, backend: PostgresBackend, table: str) -> None:
    """S0.24, S0.72: TRUNCATE fires no trigger of rows."""
    job = await job_in(store, State.SUCCEEDED)
    before = await record_of(store, job)
    with pytest.raises(asyncpg.PostgresError, match=f"tenure: {table}: what is on record stays as it is"):
        await backend.sql(f"TRUNCATE tenure.{table} CASCADE")
    assert await record_of(store, job) == before
