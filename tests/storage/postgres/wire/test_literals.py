"""Arrays written as literals arrive as they were."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tenure.storage.postgres.wire.literals import prepare
from tests.storage.backends import PostgresBackend

VALUES: dict[str, list[Any]] = {
    "uuid": [UUID(int=1), None, UUID(int=2**128 - 1)],
    "smallint": [-(2**15), None, 2**15 - 1],
    "integer": [-(2**31), None, 2**31 - 1],
    "bigint": [-(2**63), None, 2**63 - 1],
    "boolean": [True, None, False],
    "bytea": [b"", None, b'\x00\xff\\x41,{}"NULL', b"NULL"],
    "interval": [timedelta(0), None, timedelta(days=3, microseconds=1), timedelta(seconds=-1)],
    "timestamptz": [
        datetime(1970, 1, 1, tzinfo=UTC),
        None,
        datetime(2999, 12, 31, 23, 59, 59, 1, tzinfo=UTC),
    ],
}


@pytest.mark.parametrize("kind", VALUES)
async def test_a_literal_arrives_as_it_was(backend: PostgresBackend, kind: str) -> None:
    statement = prepare(f"SELECT :values::{kind}[]")
    connection = await asyncpg.connect(backend.dsn)
    for given in (VALUES[kind], [], [None]):
        assert await connection.fetchval(statement.text, *statement.arguments({"values": given})) == given
    await connection.close()


async def test_what_is_not_given_is_null(backend: PostgresBackend) -> None:
    statement = prepare("SELECT :values::uuid[]")
    connection = await asyncpg.connect(backend.dsn)
    assert await connection.fetchval(statement.text, *statement.arguments({"values": None})) is None
    await connection.close()
