"""Verifying: a database that lacks a table, a column or an index is refused, and what it lacks is named."""

import pytest

from tenure.core.errors import SchemaMismatch
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend

LOSSES = {
    "table": ("DROP TABLE tenure.timer", "table", "timer"),
    "column": ("ALTER TABLE tenure.attempt DROP COLUMN ending", "column", "attempt.ending"),
    "another name": ("ALTER TABLE tenure.event RENAME COLUMN reason TO because", "column", "event.reason"),
    "index": ("DROP INDEX tenure.job_key", "index", "job_key"),
}


@pytest.mark.parametrize("loss", LOSSES)
async def test_whatever_is_lost_is_named(empty: Backend, bare: Store, loss: str) -> None:
    await bare.migrate()
    statement, kind, name = LOSSES[loss]
    await empty.sql(statement)
    with pytest.raises(SchemaMismatch, match=rf"lacks the {kind} (tenure_)?{name}\b"):
        await bare.verify()


async def test_an_index_of_the_same_name_on_something_else_is_noticed(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    await empty.sql("DROP INDEX tenure.job_key")
    name = "job_key" if empty.kind == "postgres" else "tenure_job_key"
    await empty.sql(f"CREATE UNIQUE INDEX {name} ON tenure.job (namespace, key) WHERE key IS NOT NULL")
    with pytest.raises(SchemaMismatch, match="job_key"):
        await bare.verify()


async def test_an_index_that_lets_a_key_in_twice_is_noticed(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    await empty.sql("DROP INDEX tenure.job_key")
    name = "job_key" if empty.kind == "postgres" else "tenure_job_key"
    await empty.sql(f"CREATE INDEX {name} ON tenure.job (namespace, scope, key) WHERE key IS NOT NULL")
    with pytest.raises(SchemaMismatch, match="job_key"):
        await bare.verify()


async def test_what_somebody_has_added_does_no_harm(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    await empty.sql("CREATE TABLE tenure.note (line integer, text text)")
    await empty.sql("CREATE INDEX note_by_line ON tenure.job (line)")
    await bare.verify()
