"""New databases on PostgreSQL that have the schema already: copies of one that was migrated before."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer

ORIGINAL = "migrated"


def create_migrated(server: PostgresServer, name: str) -> str:
    """The address of a new database; its clock is the real one. May be called inside a running loop."""
    if not server.has_database(ORIGINAL):
        with ThreadPoolExecutor(max_workers=1) as thread:
            thread.submit(asyncio.run, _migrate(server.create_database(ORIGINAL))).result()
    return server.create_database(name, template=ORIGINAL)


async def _migrate(dsn: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    try:
        await store.migrate()
    finally:
        await store.close()
