"""Writes what the migrations make on PostgreSQL, as a server says, for `verify` to compare with."""

import asyncio
import sys
from pathlib import Path

import asyncpg

from tenure.storage.postgres import schema
from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer
from tests.postgres_versions import USUAL, binaries_of

FILE = Path(__file__).parent.parent / "src/tenure/storage/postgres/catalogue.txt"


async def made_by_migrations(dsn: str) -> str:
    """The catalogue of an empty database once it is migrated."""
    store = PostgresStore(dsn)
    await store.open()
    await store.migrate()
    await store.close()
    connection = await asyncpg.connect(dsn)
    try:
        return "".join(f"{line}\n" for line in await schema.held(connection))
    finally:
        await connection.close()


def main() -> int:
    """Write the file."""
    with PostgresServer(binaries_of(USUAL)) as server:
        FILE.write_text(
            asyncio.run(made_by_migrations(server.create_database("catalogue"))), encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
