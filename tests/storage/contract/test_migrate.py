"""Migrating: from nothing to the schema of this code, once, even if others try at the same time."""

import asyncio

import pytest

from tenure.core.errors import SchemaMismatch, StoreError
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend
from tests.storage.verbs import claim, count, enqueue_one, found, settle, state_of, succeeded


async def test_an_empty_database_is_brought_up_to_the_code(empty: Backend, bare: Store) -> None:
    applied = await bare.migrate()
    assert applied
    rows = await empty.sql("SELECT number, name FROM tenure.migration ORDER BY number")
    assert [f"{number:04}_{name}" for number, name in rows] == applied
    await bare.verify()

    job = await enqueue_one(bare)
    await settle(bare, [succeeded(owned) for owned in await claim(bare)])
    assert await state_of(bare, job) is State.SUCCEEDED


async def test_migrating_again_does_nothing(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    job = await enqueue_one(bare)
    before = await empty.sql("SELECT * FROM tenure.migration ORDER BY number")
    assert await bare.migrate() == []
    assert await empty.sql("SELECT * FROM tenure.migration ORDER BY number") == before
    assert (await found(bare, job)).state is State.QUEUED


async def test_those_that_migrate_at_once_apply_each_migration_once(empty: Backend, bare: Store) -> None:
    others = [empty.store() for _ in range(3)]
    for store in others:
        await store.open()
    answers = await asyncio.gather(*(store.migrate() for store in [bare, *others]))
    for store in others:
        await store.close()
    await bare.verify()
    applied = [name for answer in answers for name in answer]
    assert len(applied) == len(set(applied)) == await count(empty, "tenure.migration")


async def test_a_store_opened_before_the_migration_can_be_used_after_it(empty: Backend, bare: Store) -> None:
    early = empty.store()
    await early.open()
    await bare.migrate()
    job = await enqueue_one(early)
    await early.close()
    assert await state_of(bare, job) is State.QUEUED


async def test_a_schema_newer_than_the_code_is_refused(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    await empty.sql(
        "INSERT INTO tenure.migration (number, name, applied_at, reads_from) "
        "SELECT max(number) + 1, 'from the future', max(applied_at), max(number) + 1 FROM tenure.migration"
    )
    rows = await count(empty, "tenure.migration")
    with pytest.raises(SchemaMismatch):
        await bare.migrate()
    with pytest.raises(SchemaMismatch):
        await bare.verify()
    assert await count(empty, "tenure.migration") == rows


async def test_a_newer_schema_that_this_code_can_read_is_accepted(empty: Backend, bare: Store) -> None:
    """And nothing is applied to it."""
    await bare.migrate()
    await empty.sql(
        "INSERT INTO tenure.migration (number, name, applied_at, reads_from) "
        "SELECT max(number) + 1, 'an addition', max(applied_at), max(number) FROM tenure.migration"
    )
    assert await bare.migrate() == []
    await bare.verify()


async def test_a_database_from_before_the_first_release_is_told_to_be_made_anew(
    empty: Backend, bare: Store
) -> None:
    await bare.migrate()
    await empty.sql("ALTER TABLE tenure.migration DROP COLUMN reads_from")
    for verb in (bare.verify, bare.migrate, bare.migration_sql):
        with pytest.raises(SchemaMismatch, match=r"before the first release.*then run `tenure migrate`"):
            await verb()


async def test_every_store_has_an_id_of_its_own(empty: Backend, bare: Store, store: Store) -> None:
    """The same after a restart, and as whoever else opens the store reads it."""
    await bare.migrate()
    made = await bare.store_id()
    assert made.version == 4
    again = empty.store()
    await again.open()
    assert await again.store_id() == made
    await again.close()
    assert await store.store_id() != made
    assert await count(empty, "tenure.store") == 1


async def test_a_database_that_was_never_migrated_is_refused(bare: Store) -> None:
    with pytest.raises(SchemaMismatch):
        await bare.verify()
    with pytest.raises(StoreError):
        await bare.enqueue([NewJob(definition="mail")])


async def test_a_schema_older_than_the_code_is_refused(empty: Backend, bare: Store) -> None:
    await bare.migrate()
    await empty.sql("DELETE FROM tenure.migration WHERE number = (SELECT max(number) FROM tenure.migration)")
    with pytest.raises(SchemaMismatch):
        await bare.verify()
