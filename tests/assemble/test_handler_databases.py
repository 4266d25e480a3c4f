"""A worker starts only if its handlers can have the transactions that their definitions ask for."""

import os
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from tenure.assemble.handler_databases import require_handler_databases
from tenure.core.errors import InvalidInput
from tenure.core.model.spec import Spec
from tenure.execution.protocol.environment import ChildEnvironment
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated

ASKS = Spec(key="pay", database="CHARGES")


@pytest.fixture
def jobs(postgres_server: PostgresServer) -> str:
    """The address of the database with the jobs."""
    return create_migrated(postgres_server, f"jobs_{os.urandom(4).hex()}")


@pytest.fixture
def role(jobs: str, postgres_server: PostgresServer) -> Iterator[tuple[str, str]]:
    """A user without any right but to connect, and its address of the database with the jobs."""
    name = f"shop_{os.urandom(4).hex()}"
    postgres_server._await(_run(jobs, f"CREATE ROLE {name} LOGIN PASSWORD 'of the shop'"))
    place = jobs.rpartition("@")[2]
    yield name, f"postgresql://{name}:of%20the%20shop@{place}"
    postgres_server._await(_run(jobs, f"DROP OWNED BY {name}; DROP ROLE {name}"))


async def _run(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def refusal(jobs: str, *specs: Spec, **variables: str) -> str:
    """What the worker says instead of starting."""
    with pytest.raises(InvalidInput) as caught:
        await require_handler_databases(specs, jobs, ChildEnvironment(variables))
    return str(caught.value)


async def test_a_worker_on_a_file_refuses_transactions_and_says_what_to_use_instead() -> None:
    said = await refusal("sqlite:///jobs.db", Spec(key="mail"), ASKS)
    assert said == (
        "database of pay@1: is for ctx.transaction, which needs jobs in PostgreSQL, and they are in an "
        "SQLite file; use ctx.once there: it runs nothing twice unknowingly"
    )


async def test_a_variable_that_the_worker_lacks_is_named() -> None:
    said = await refusal("postgresql://localhost/jobs", ASKS)
    assert said == (
        "database of pay@1: is CHARGES, a variable that this worker has not; start the worker with it: the "
        "address for its handlers"
    )


async def test_an_address_that_leads_nowhere_is_refused() -> None:
    """Nor is its password said."""
    for address in ("no address", "postgresql://shop:secret@127.0.0.1:1/jobs"):
        said = await refusal("postgresql://localhost/jobs", ASKS, CHARGES=address)
        assert "is CHARGES, whose address leads to no database" in said
        assert "secret" not in said


async def test_a_database_without_the_function_is_refused(jobs: str, postgres_server: PostgresServer) -> None:
    bare = postgres_server.create_database(f"bare_{os.urandom(4).hex()}")
    assert "a database without the function tenure.keep_step" in await refusal(jobs, ASKS, CHARGES=bare)


async def test_another_database_with_jobs_is_refused(jobs: str, postgres_server: PostgresServer) -> None:
    """There each transaction would be told that its lease is lost."""
    other = create_migrated(postgres_server, f"other_{os.urandom(4).hex()}")
    assert "another database than the one that has the jobs" in await refusal(jobs, ASKS, CHARGES=other)


async def test_a_user_may_keep_steps_once_it_is_granted_what_the_refusal_says(
    jobs: str, role: tuple[str, str]
) -> None:
    name, address = role
    said = await refusal(jobs, ASKS, CHARGES=address)
    assert f"whose user {name} may not keep steps; in that database, run GRANT" in said
    await _run(jobs, said.partition(", run ")[2])
    given: dict[str, Any] = {"CHARGES": address}
    await require_handler_databases([Spec(key="mail"), ASKS], jobs, ChildEnvironment(given))
