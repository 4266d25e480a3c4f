"""Verifying what PostgreSQL alone has, and the turn that migrations wait for, by hand too."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from tenure.core.errors import SchemaMismatch
from tenure.storage.postgres import schema
from tenure.storage.schema import ledger
from tests.storage.backends import server_for
from tests.storage.postgres.conftest import each_version
from tests.until import until
from tools.catalogue import made_by_migrations

database_kind = each_version
LOSSES = {
    "type": ("ALTER TYPE tenure.state RENAME VALUE 'buried' TO 'interred'", "lacks the type state"),
    "sequence": ("ALTER SEQUENCE tenure.place RENAME TO places", "lacks the sequence place"),
    "view": ("DROP VIEW tenure.job_events", "lacks the view job_events"),
    "constraint": (
        "ALTER TABLE tenure.job_state DROP CONSTRAINT attempts_bounded",
        r"lacks the constraint job_state\.attempts_bounded",
    ),
    "function": ("ALTER FUNCTION tenure.now() RENAME TO later", r"lacks the function now\(\)"),
    "guard that is switched off": ("ALTER TABLE tenure.event DISABLE TRIGGER guard_record", "guard_record"),
    "guard for replicas only": ("ALTER TABLE tenure.job ENABLE REPLICA TRIGGER guard_delete", "guard_delete"),
    "weaker lease check": (
        """ALTER TABLE tenure.job_state DROP CONSTRAINT lease_while_owned,
             ADD CONSTRAINT lease_while_owned CHECK (lease IS NULL OR state <> 'queued')""",
        "lease_while_owned",
    ),
}


@pytest.fixture
def empty(request: pytest.FixtureRequest, database_kind: str) -> str:
    """An empty database, for the test alone."""
    return server_for(request, database_kind).create_database(f"parts_{uuid4().hex}")


@pytest.fixture
async def connection(empty: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to it."""
    connected = await asyncpg.connect(empty)
    yield connected
    await connected.close()


@pytest.mark.parametrize("loss", LOSSES)
async def test_every_kind_of_part_that_is_lost_is_named(
    empty: str, connection: asyncpg.Connection, loss: str
) -> None:
    """A guard that exists but does nothing counts as missing."""
    await made_by_migrations(empty)
    await schema.verify(connection)
    statement, named = LOSSES[loss]
    await connection.execute(statement)
    with pytest.raises(SchemaMismatch, match=named):
        await schema.verify(connection)


async def test_migrating_by_hand_waits_for_whoever_migrates(
    empty: str, connection: asyncpg.Connection
) -> None:
    other = await asyncpg.connect(empty)
    await other.execute("BEGIN")
    await other.execute(ledger.POSTGRES.lock)
    by_hand = asyncio.create_task(connection.execute(await schema.by_hand(other)))
    await until(lambda: other.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    assert not by_hand.done()
    await other.execute("ROLLBACK")
    await by_hand
    await schema.verify(other)
    await other.close()
