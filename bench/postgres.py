"""A PostgreSQL of the bench's own, configured as it comes, and what it says of itself: CPU, WAL, disk."""

import os
import signal
from typing import Any

import asyncpg

from bench import processes
from bench.loop import fill, run_on
from tenure.storage.postgres.store import PostgresStore
from tests.postgres_server import PostgresServer, find_binaries, system_binaries, wheel_binaries

FILL_AT_ONCE = 500_000
"""Fewer jobs than would take as long as a round may."""

WORTH_TIDYING = 10_000
"""After filling in fewer jobs than this there is nothing to tidy."""

_SIZE = """
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'tenure'::regnamespace
"""


class Postgres:
    """One server for one run, durable as any: fsync, full pages and synchronous commits are on."""

    def __init__(self) -> None:
        self.binaries = find_binaries(system_binaries(), wheel_binaries())
        self.server = PostgresServer(self.binaries, durable=True)
        self.server.start()
        self._databases: dict[str, Database] = {}

    def close(self) -> None:
        """End the server and remove its files."""
        if self.server.pid:
            # At once: a shutdown in good order would first bring to disk all that is about to be removed.
            os.kill(self.server.pid, signal.SIGQUIT)
        self.server.stop()

    def database(self, name: str) -> "Database":
        """The database of that name with the product's schema; made when it is first asked for."""
        if name not in self._databases:
            self._databases[name] = Database(self, self.server.create_database(name))
        return self._databases[name]

    def version(self) -> str:
        """As the server says."""
        return str(ask(self.server.dsn("postgres"), "SHOW server_version"))

    def cpu(self) -> float | None:
        """CPU seconds of all processes of the server so far; None where the system does not tell."""
        return processes.cpu(self.server.pid) if self.server.pid else None


class Database:
    """A database with a stock of queued jobs."""

    def __init__(self, postgres: Postgres, dsn: str) -> None:
        self.postgres = postgres
        self.dsn = dsn
        self._stock = 0
        run_on(None, _migrate(dsn))

    def stock(self, jobs: int) -> None:
        """See to it that so many jobs stand in line."""
        missing = jobs - self._stock
        while self._stock < jobs:
            filling = min(jobs - self._stock, FILL_AT_ONCE)
            run_on(None, _fill(self.dsn, filling))
            self._stock += filling
        if missing >= WORTH_TIDYING:
            self.tidy()

    def take(self, jobs: int) -> None:
        """Count jobs off the stock for a round that is about to claim them."""
        if self._stock < jobs:
            self.stock(jobs * 4)
        self._stock -= jobs

    def tidy(self) -> None:
        """Do now what filling has left for later, so that no round pays for it; autovacuum stays on."""
        ask(self.dsn, "VACUUM ANALYZE")
        ask(self.dsn, "CHECKPOINT")

    def line(self) -> int:
        """The number of the one line that jobs stand in."""
        return int(ask(self.dsn, "SELECT id FROM tenure.line"))

    def wal_position(self) -> int:
        """How many bytes of WAL there have been."""
        return int(ask(self.dsn, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def size(self) -> int:
        """Bytes of all tables of the product with their indexes and what is kept out of line."""
        return int(ask(self.dsn, _SIZE))

    def store(self) -> PostgresStore:
        """A store on it, not yet opened."""
        return PostgresStore(self.dsn)


def ask(dsn: str, statement: str) -> Any:
    """Run one statement and answer with its first value."""
    return run_on(None, _ask(dsn, statement))


async def _migrate(dsn: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    await store.migrate()
    await store.close()


async def _fill(dsn: str, jobs: int) -> None:
    store = PostgresStore(dsn)
    await store.open()
    await fill(store, jobs)
    await store.close()


async def _ask(dsn: str, statement: str) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()
