"""A database that was restored while a process runs."""

import asyncpg

from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend


async def test_a_job_never_lands_under_another_keys_limit(
    store: PostgresStore, backend: PostgresBackend
) -> None:
    """The lines were created anew in another order: a cached id now belongs to another line."""
    await store.enqueue([tenant("anna")])
    await store.enqueue([tenant("bert")])
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute("UPDATE tenure.line SET limits = '{0}' WHERE id = 1")
    await connection.execute("UPDATE tenure.line SET limits = '{1}' WHERE id = 2")
    await connection.execute("UPDATE tenure.line SET limits = '{2}' WHERE id = 1")
    await connection.close()
    [again] = await store.enqueue([tenant("anna")])
    job = await store.get(again.id)
    assert job is not None
    assert [limit.key for limit in job.limits] == ["anna"]


def tenant(key: str) -> NewJob:
    return NewJob(definition="mail", limits=(Limit("tenant", key),))
