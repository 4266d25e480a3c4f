"""`tenure.keep_step`: a step that commits together with what a handler's own transaction has written."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tenure.core.model.durable import (
    LARGEST_PROGRESS,
    LARGEST_STEP,
    MOST_STEPS,
    Keeping,
    StepKind,
    StepStatus,
)
from tenure.core.model.lease import Lease
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.durable_verbs import done, held, held_again, keep, kept
from tests.storage.verbs import record_of, seconds
from tests.until import until

ROLE = "handler_of_charges"
LOST, BAD, FULL, TWICE = "TN002", "TN003", "TN004", "TN005"


@pytest.fixture
async def handler(backend: PostgresBackend) -> AsyncIterator[asyncpg.Connection]:
    """A connection of a role that has no rights but those to its own table and to the function."""
    await backend.sql("CREATE TABLE IF NOT EXISTS charges (job uuid)")
    if not await backend.sql(f"SELECT FROM pg_roles WHERE rolname = '{ROLE}'"):
        await backend.sql(f"CREATE ROLE {ROLE}")
    await backend.sql(f"GRANT INSERT, SELECT ON charges TO {ROLE}")
    await backend.sql(f"GRANT USAGE ON SCHEMA tenure TO {ROLE}")
    await backend.sql(f"GRANT EXECUTE ON FUNCTION tenure.keep_step(uuid, bigint, text, text, text) TO {ROLE}")
    await backend.sql("TRUNCATE charges")
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute(f"SET ROLE {ROLE}")
    yield connection
    await connection.close()
    await backend.sql("DROP TABLE charges")


async def charge(
    handler: asyncpg.Connection, lease: Lease, name: str = "charge", body: Any = '{"id":7}'
) -> None:
    """Write a charge and keep the step of it, in one transaction."""
    async with handler.transaction():
        await handler.execute("INSERT INTO charges VALUES ($1)", lease.job)
        await handler.execute("SELECT tenure.keep_step($1, $2, $3, $4)", lease.job, lease.fence, name, body)


async def refused(handler: asyncpg.Connection, lease: Lease, **given: Any) -> str | None:
    """The code with which the database refuses a charge."""
    with pytest.raises(asyncpg.PostgresError) as caught:
        await charge(handler, lease, **given)
    code: str | None = caught.value.sqlstate
    return code


async def charges(backend: PostgresBackend) -> list[UUID]:
    return [job for (job,) in await backend.sql("SELECT job FROM charges")]


async def test_what_a_handler_wrote_is_there_exactly_as_often_as_its_step(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """S2.30: both or neither."""
    lease = await held(store)
    before = await record_of(store, lease.job)

    await charge(handler, lease)

    [step] = await kept(store, lease.job)
    assert (step.name, step.kind, step.status) == ("charge", StepKind.TRANSACTION, StepStatus.DONE)
    assert (step.body, step.size, step.fence) == ('{"id":7}', 8, lease.fence)
    assert await charges(backend) == [lease.job]
    assert await record_of(store, lease.job) == before
    assert await backend.sql("SELECT steps, bytes, fence FROM tenure.kept") == [(1, 8, lease.fence)]


async def test_a_zombies_transaction_rolls_back(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """S0.14, S0.61: an attempt that has lost its lease writes nothing, not even into the user's tables."""
    old = await held(store)
    await backend.clock.advance(seconds(31))
    await store.reap(10)
    assert await refused(handler, old) == LOST, "nobody holds it"
    new = await held_again(store)
    assert await refused(handler, old) == LOST, "another one holds it"
    assert await refused(handler, Lease(old.job, new.fence + 1)) == LOST
    assert await charges(backend) == []
    assert await kept(store, old.job) == []
    await charge(handler, new)


async def test_a_lease_that_has_run_out_meanwhile_keeps_nothing(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """By the clock on the wall: the time of a transaction is that of its beginning."""
    lease = await held(store)
    async with handler.transaction():
        await handler.execute("SELECT now()")
        await backend.sql("UPDATE tenure.lease SET expires_at = clock_timestamp() + interval '1 hour'")
        await handler.execute("SELECT tenure.keep_step($1, $2, 'first', 'null')", lease.job, lease.fence)
    await backend.sql("UPDATE tenure.lease SET expires_at = clock_timestamp()")
    assert await refused(handler, lease) == LOST
    assert await charges(backend) == []


async def test_a_step_that_is_kept_already_is_refused(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """The answer to its COMMIT was lost, and the transaction is run again: it must not count twice."""
    lease = await held(store)
    await charge(handler, lease)
    assert await refused(handler, lease) == TWICE
    assert await charges(backend) == [lease.job]
    await keep(store, lease, done("other"))
    assert await refused(handler, lease, name="other") == TWICE
    assert await keep(store, lease, done("charge", '{"id":7}')) == [Keeping.DIFFERS]


@pytest.mark.parametrize("name", ["", "a/b", "a?b", "a#b", "x" * 201, "a\nb", "#2"])
async def test_a_name_that_no_step_can_have_is_refused(
    store: PostgresStore, handler: asyncpg.Connection, name: str
) -> None:
    assert await refused(handler, await held(store), name=name) == BAD


async def test_results_are_bounded(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    lease = await held(store)
    await charge(handler, lease, name="n#2", body="1" * LARGEST_STEP)
    assert await refused(handler, lease, body="1" * (LARGEST_STEP + 1)) == BAD
    assert await refused(handler, lease, body="{") == "22P02"
    await backend.sql(f"UPDATE tenure.kept SET bytes = {LARGEST_PROGRESS - 3}")
    assert await refused(handler, lease, body="1234") == FULL
    await backend.sql(f"UPDATE tenure.kept SET steps = {MOST_STEPS}")
    assert await refused(handler, lease, body="1") == FULL


async def test_its_role_needs_no_other_right(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """Nor can it make the function look elsewhere, and who was not granted it may not call it."""
    lease = await held(store)
    for table in ("step", "kept", "job_state", "lease"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await handler.execute(f"SELECT * FROM tenure.{table}")
    await handler.execute("CREATE TEMP TABLE step (job uuid)")
    await handler.execute("SET search_path = pg_temp, tenure, public")
    await charge(handler, lease)
    assert len(await kept(store, lease.job)) == 1
    await backend.sql(
        f"REVOKE EXECUTE ON FUNCTION tenure.keep_step(uuid, bigint, text, text, text) FROM {ROLE}"
    )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await charge(handler, lease, name="again")


async def test_a_job_is_not_taken_from_its_owner_before_the_commit(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """What is kept under a lease commits before the reaper moves the job: no attempt runs beside it."""
    lease = await held(store)
    transaction = handler.transaction()
    await transaction.start()
    await handler.execute("SELECT tenure.keep_step($1, $2, 'charge', 'null')", lease.job, lease.fence)
    await backend.clock.advance(seconds(31))
    assert await store.reap(10) == []
    await transaction.commit()
    assert len(await store.reap(10)) == 1
    assert [step.name for step in await kept(store, lease.job)] == ["charge"]


async def test_what_a_transaction_has_kept_is_recalled_once_it_is_decided(
    store: PostgresStore, backend: PostgresBackend, handler: asyncpg.Connection
) -> None:
    """The answer to its COMMIT was lost, and it may still come through: who looks then waits for its end."""
    lease = await held(store)
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()"
    for name, is_committed in (("charge", True), ("refund", False)):
        transaction = handler.transaction()
        await transaction.start()
        await handler.execute("SELECT tenure.keep_step($1, $2, $3, 'null')", lease.job, lease.fence, name)
        assert await store.recall_step("a", lease, name) is None
        looking = asyncio.create_task(store.recall_step("a", lease, name, is_decided=True))

        async def is_waiting() -> bool:
            return await backend.sql(waiting) != [(0,)]

        await until(is_waiting)
        assert not looking.done()
        await (transaction.commit() if is_committed else transaction.rollback())
        assert ((await looking) is not None) is is_committed
