"""Migrations reported one by one as they are applied, and as SQL to be run by hand."""

import re

import apsw
import asyncpg
import pytest

from tenure.core.errors import SchemaMismatch
from tenure.storage.contract.store import Store
from tenure.storage.schema.migration import Applied
from tests.storage.backends import Backend


class Enough(Exception):
    """Said by a test that wants no more migrations."""


def stop_after_the_first(_applied: Applied) -> None:
    raise Enough


async def run_whole(backend: Backend, text: str) -> None:
    """Run a text of many statements, as a database shell would."""
    if backend.kind == "sqlite":
        connection = apsw.Connection(backend.address.removeprefix("sqlite:///"))
        connection.execute(text)
        connection.close()
    else:
        server = await asyncpg.connect(backend.address)
        await server.execute(text)
        await server.close()


async def test_each_migration_is_told_as_the_how_manieth_of_how_many(bare: Store) -> None:
    applied: list[Applied] = []
    labels = await bare.migrate(applied.append)
    assert [one.label for one in applied] == labels
    assert [one.position for one in applied] == list(range(1, len(labels) + 1))
    assert {one.total for one in applied} == {len(labels)}


async def test_a_migration_is_committed_when_it_is_told(empty: Backend, bare: Store) -> None:
    with pytest.raises(Enough):
        await bare.migrate(stop_after_the_first)
    assert await empty.sql("SELECT number FROM tenure.migration") == [(1,)]
    applied: list[Applied] = []
    labels = await bare.migrate(applied.append)
    assert [one.position for one in applied] == list(range(2, len(labels) + 2))
    await bare.verify()


async def test_an_empty_database_is_brought_up_to_the_code_by_hand(empty: Backend, bare: Store) -> None:
    await run_whole(empty, await bare.migration_sql())
    await bare.verify()
    assert await bare.migrate() == []


async def test_only_what_is_missing_is_to_be_run_by_hand(empty: Backend, bare: Store) -> None:
    with pytest.raises(Enough):
        await bare.migrate(stop_after_the_first)
    text = await bare.migration_sql()
    assert "-- 0001_" not in text
    assert "-- 0002_" in text
    await run_whole(empty, text)
    await bare.verify()


async def test_to_ask_for_the_text_changes_nothing(bare: Store) -> None:
    text = await bare.migration_sql()
    assert await bare.migration_sql() == text
    with pytest.raises(SchemaMismatch):
        await bare.verify()


async def test_a_database_that_is_up_to_date_needs_no_statement(bare: Store) -> None:
    await bare.migrate()
    assert not re.search(r"^[^-\n]", await bare.migration_sql(), re.MULTILINE)


async def test_no_text_is_offered_for_a_schema_newer_than_the_code(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    await empty.sql(
        "INSERT INTO tenure.migration (number, name, applied_at, reads_from) "
        "SELECT 9999, 'from_the_future', max(applied_at), 9999 FROM tenure.migration"
    )
    with pytest.raises(SchemaMismatch, match="9999"):
        await bare.migration_sql()
