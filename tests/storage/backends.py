"""The two kinds of database the contract suite runs on: how to make one empty, and how to reach behind it.

Plain SQL is written once, with PostgreSQL's names (`tenure.job_state`); on SQLite the prefix becomes
`tenure_`. Only what both dialects share belongs into such a text.
"""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol

import apsw
import asyncpg
import pytest

from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.sqlite.rows import micros
from tenure.storage.sqlite.store import SqliteStore
from tests.postgres_server import PostgresServer
from tests.storage.clock import START, Clock

Refused = (apsw.ConstraintError, asyncpg.PostgresError)
"""What a database raises when its own guards refuse a statement."""

NEWEST = "postgres-18"
"""What tests that depend on the version of PostgreSQL run on beside `postgres`."""

_CLOCK_ON_POSTGRES = """
    CREATE TABLE tenure.test_clock (at timestamptz NOT NULL);
    CREATE OR REPLACE FUNCTION tenure.now() RETURNS timestamptz LANGUAGE sql STABLE
        AS 'SELECT at FROM tenure.test_clock';
"""
# A truncation makes new files, for every index too, which would take most of the time: only what has grown is
# worth it. A table of up to ten pages is planned for as if it were empty. The guards are switched off.
_EMPTY_POSTGRES = """
    SET session_replication_role = replica;
    DO $$
    DECLARE
        name text;
        pages bigint;
    BEGIN
        FOR name, pages IN SELECT oid::regclass, pg_relation_size(oid) / 8192 FROM pg_class
                            WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'r'
                              AND relname NOT IN ('migration', 'retention', 'store')
                              AND pg_relation_size(oid) > 0 LOOP
            EXECUTE CASE WHEN pages > 10 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || name;
        END LOOP;
        FOR name IN SELECT oid::regclass FROM pg_class
                     WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'S' LOOP
            PERFORM setval(name, 1, false);
        END LOOP;
    END $$;
    DELETE FROM tenure.retention;
    INSERT INTO tenure.retention (definition, succeeded_ms, others_ms, keyed_ms, by, at)
    VALUES ('', 604800000, 2592000000, 604800000, 'migration', now());
    RESET session_replication_role;
"""


class Backend(Protocol):
    """One database under test."""

    clock: Clock
    kind: str

    @property
    def address(self) -> str:
        """The address of the database, as commands take it."""

    async def prepare(self) -> None: ...
    async def dispose(self) -> None: ...

    def store(self) -> Store:
        """Another store on the same database, not yet opened."""

    async def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run plain SQL in a transaction of its own, as from a database shell."""

    async def forge(self, text: str) -> None:
        """Run plain SQL past the guards, as the owner of the database can."""


class SqliteBackend:
    """A database file of its own, a copy of the first that was migrated."""

    kind = "sqlite"
    _migrated: ClassVar[bytes | None] = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = Clock(self._set_clock)

    @property
    def address(self) -> str:
        return f"sqlite:///{self.path}"

    async def prepare(self) -> None:
        if SqliteBackend._migrated is None:
            migrating = self.store()
            await migrating.open()
            await migrating.migrate()
            await migrating.close()
            await self.sql("CREATE TABLE tenure.test_clock (at INTEGER NOT NULL)")
            await self.sql(f"INSERT INTO tenure.test_clock VALUES ({micros(START)})")
            SqliteBackend._migrated = self.path.read_bytes()
        else:
            self.path.write_bytes(SqliteBackend._migrated)

    async def dispose(self) -> None:
        pass

    def store(self) -> SqliteStore:
        return SqliteStore(self.path)

    async def sql(self, text: str) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(self._run, text.replace("tenure.", "tenure_"))

    async def forge(self, text: str) -> None:
        connection = apsw.Connection(str(self.path))
        try:
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            connection.execute(text.replace("tenure.", "tenure_"))
        finally:
            connection.close()

    def _run(self, text: str) -> list[tuple[Any, ...]]:
        connection = apsw.Connection(str(self.path))
        try:
            connection.set_busy_timeout(10_000)
            return list(connection.execute(text))
        finally:
            connection.close()

    async def _set_clock(self, at: datetime) -> None:
        await self.sql(f"UPDATE tenure.test_clock SET at = {micros(at)}")


class PostgresBackend:
    """A database on the suite's own server, shared by all tests and emptied for each."""

    kind = "postgres"

    def __init__(self, server: PostgresServer, name: str = "contract") -> None:
        self._server = server
        self._name = name
        self.dsn = server.dsn(name)
        self.clock = Clock(self._set_clock)

    @property
    def address(self) -> str:
        return self.dsn

    async def prepare(self) -> None:
        is_new = not self._server.has_database(self._name)
        if is_new:
            self._server.create_database(self._name)
            migrating = self.store()
            await migrating.open()
            await migrating.migrate()
            await migrating.close()
        self._connection = await self.connect()
        if is_new:
            await self._connection.execute(_CLOCK_ON_POSTGRES)
        await self._connection.execute(_EMPTY_POSTGRES)
        await self._connection.execute("INSERT INTO tenure.test_clock VALUES ($1)", START)

    async def connect(self) -> asyncpg.Connection:
        """The test's own way into the database."""
        return await asyncpg.connect(self.dsn)

    async def dispose(self) -> None:
        await self._connection.close()

    def store(self) -> PostgresStore:
        return PostgresStore(self.dsn)

    async def sql(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._connection.fetch(text)]

    async def forge(self, text: str) -> None:
        async with self._connection.transaction():
            await self._connection.execute("SET LOCAL session_replication_role = replica")
            await self._connection.execute(text)

    async def _set_clock(self, at: datetime) -> None:
        await self._connection.execute("UPDATE tenure.test_clock SET at = $1", at)


def server_for(request: pytest.FixtureRequest, kind: str) -> PostgresServer:
    """The server of a version of PostgreSQL, started if it does not run yet."""
    name = "newest_postgres_server" if kind == NEWEST else "postgres_server"
    server: PostgresServer = request.getfixturevalue(name)
    return server
