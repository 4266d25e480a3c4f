"""`vitals` on PostgreSQL: what the server says of itself, with the right to see it and without."""

from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest

from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.vitals import HOT_TABLES, vitals_from
from tests.postgres_server import PostgresServer
from tests.storage.migrated_databases import create_migrated

WELL = {"used": 3, "most": 100, "notify": 0.0, "sees_all": True, "user": "ann"}
TABLE = {"name": "ready", "live": 10, "dead": 5, "updates": 4, "hot": 3, "vacuumed_at": None}


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> str:
    return create_migrated(postgres_server, f"vitals_{uuid4().hex}")


async def test_an_open_transaction_is_named_with_its_owner(dsn: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    session = await asyncpg.connect(dsn, server_settings={"application_name": "forgotten"})
    try:
        async with session.transaction():
            pid = await session.fetchval("SELECT pg_backend_pid()")
            [old] = (await store.vitals(long=timedelta(0))).symptoms
            assert f"pid {pid} of " in old.what
            assert "(forgotten)" in old.what
            assert "idle in transaction" in old.what
            assert old.since is not None
            assert old.cure.endswith(f"pg_terminate_backend({pid})")
            assert (await store.vitals(long=timedelta(days=1))).symptoms == []
        facts = {fact.name: fact.value for fact in (await store.vitals()).facts}
        assert {f"table {table}" for table in HOT_TABLES} <= facts.keys()
        assert " in use" in facts["connections"]
    finally:
        await session.close()
        await store.close()


async def test_what_needs_a_right_says_so(dsn: str) -> None:
    role = f"reader_{uuid4().hex}"
    owner = await asyncpg.connect(dsn)
    await owner.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'guess'")
    parts = dsn.partition("@")
    store = PostgresStore(f"postgresql://{role}:guess@{parts[2]}")
    try:
        await store.open()
        facts = {fact.name: fact.value for fact in (await store.vitals()).facts}
        assert facts["oldest transaction"].endswith(f"`GRANT pg_read_all_stats TO {role}`")
        await store.close()
    finally:
        await owner.execute(f"DROP ROLE {role}")
        await owner.close()


@pytest.mark.parametrize(
    ("server", "table", "kinds"),
    [
        ({}, {}, []),
        ({"used": 90}, {}, ["connections"]),
        ({"notify": 0.5}, {}, ["notify-queue"]),
        ({}, {"dead": 200_000}, ["dead-rows"]),
        ({}, {"dead": 200_000, "live": 50_000}, []),
    ],
)
def test_figures_that_need_a_person(
    server: dict[str, object], table: dict[str, object], kinds: list[str]
) -> None:
    found = vitals_from({**WELL, **server}, [], [{**TABLE, **table}])
    assert [one.kind for one in found.symptoms] == kinds
    assert "75% of updates HOT" in found.facts[-1].value
