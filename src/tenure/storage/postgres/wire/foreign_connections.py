"""Connections of the caller, inside an open transaction: which drivers are known, and how each is used.

A driver is imported only if the caller passes one of its connections. The connection must be in a transaction
or begin one by itself: if it commits after every statement, a job would stay although its caller believes
that it can still be rolled back.
"""

import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tenure.storage.contract.draft import Connection, comes_from, no_transaction, unknown_connection
from tenure.storage.mapping.values import Row
from tenure.storage.postgres.wire.literals import Prepared, prepare
from tenure.storage.schema import statements

Rows = Sequence[Row]

_KNOWN = "a connection of asyncpg, psycopg 3, SQLAlchemy 2 or Django with an open transaction"
_IN_A_BLOCK = "use it inside `with connection.transaction():`"
_ATOMIC = "use it inside `with transaction.atomic():`"
# SQLAlchemy would take the first of the colons in `:name::type` for its own.
_CAST = re.compile(r"(?<![:\w]):([a-z_]+)::(\w+(?:\[\])?)")


class NamedStatement(NamedTuple):
    """A statement by its name, and its values."""

    name: str
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The statement with `$1, $2 …` for its values."""
        return _statements()[self.name].text

    @property
    def arguments(self) -> Sequence[Any]:
        """The values, in the order in which the text counts them."""
        return _statements()[self.name].arguments(self.values)


Fetch = Callable[[NamedStatement], Rows]
FetchAsync = Callable[[NamedStatement], Awaitable[Rows]]


def blocking_fetch(connection: Connection) -> Fetch | None:
    """Runs statements on a blocking connection; None if it is asynchronous. InvalidInput for others."""
    if comes_from(connection, "psycopg"):
        return _psycopg(connection)
    if comes_from(connection, "sqlalchemy"):
        return _sqlalchemy(connection)
    if comes_from(connection, "django"):
        return _django(connection)
    if comes_from(connection, "asyncpg"):
        return None
    raise unknown_connection(connection, _KNOWN)


async def async_fetch(connection: Connection) -> FetchAsync:
    """Runs statements on an asynchronous connection, for which `blocking_fetch` returns None."""
    if comes_from(connection, "psycopg"):
        return _psycopg_async(connection)
    if comes_from(connection, "sqlalchemy"):
        return await _sqlalchemy_async(connection)
    return _asyncpg(connection)


def _asyncpg(connection: Connection) -> FetchAsync:
    import asyncpg

    if isinstance(connection, asyncpg.Pool):
        raise unknown_connection(connection, "a connection acquired from it, with an open transaction")
    if not connection.is_in_transaction():
        raise no_transaction("use it inside `async with connection.transaction():`")

    async def fetch(statement: NamedStatement) -> Rows:
        rows: Rows = await connection.fetch(statement.text, *statement.arguments)
        return rows

    return fetch


def _django(connection: Connection) -> Fetch | None:
    """`django.db.connection`, or one of `connections`: psycopg's own is inside it once it is used."""
    driver = getattr(connection, "connection", None)
    if driver is None:
        raise no_transaction(_ATOMIC)
    if not comes_from(driver, "psycopg"):
        raise unknown_connection(driver, _KNOWN)
    return _psycopg(driver, _ATOMIC)


def _psycopg(connection: Connection, way_out: str = _IN_A_BLOCK) -> Fetch | None:
    import psycopg
    from psycopg.rows import dict_row

    if isinstance(connection, psycopg.AsyncConnection):
        return None
    if not isinstance(connection, psycopg.Connection):
        raise unknown_connection(connection, _KNOWN)
    _require_transaction_of_psycopg(connection, way_out)

    def fetch(statement: NamedStatement) -> Rows:
        with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
            return cursor.execute(statement.text, statement.arguments).fetchall()

    return fetch


def _psycopg_async(connection: Connection) -> FetchAsync:
    import psycopg
    from psycopg.rows import dict_row

    _require_transaction_of_psycopg(connection)

    async def fetch(statement: NamedStatement) -> Rows:
        async with psycopg.AsyncRawCursor(connection, row_factory=dict_row) as cursor:
            return await (await cursor.execute(statement.text, statement.arguments)).fetchall()

    return fetch


def _require_transaction_of_psycopg(connection: Connection, way_out: str = _IN_A_BLOCK) -> None:
    from psycopg.pq import TransactionStatus

    if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
        raise no_transaction(way_out)


def _sqlalchemy(given: Connection) -> Fetch | None:
    from sqlalchemy import Connection as BlockingConnection
    from sqlalchemy.orm import Session, scoped_session

    if not isinstance(given, BlockingConnection | Session | scoped_session):
        if _is_of_async_sqlalchemy(given):
            return None
        raise unknown_connection(given, _KNOWN)
    connection = given if isinstance(given, BlockingConnection) else given.connection()
    _require_transaction_of_sqlalchemy(connection.connection.dbapi_connection)

    def fetch(statement: NamedStatement) -> Rows:
        return connection.execute(*_for_sqlalchemy(statement)).mappings().all()

    return fetch


def _is_of_async_sqlalchemy(given: Connection) -> bool:
    if "sqlalchemy.ext.asyncio" not in sys.modules:
        # A caller with such a connection has imported it; otherwise greenlet, which it needs, may be missing.
        return False
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

    return isinstance(given, AsyncConnection | AsyncSession | async_scoped_session)


async def _sqlalchemy_async(given: Connection) -> FetchAsync:
    from sqlalchemy.ext.asyncio import AsyncConnection

    connection = given if isinstance(given, AsyncConnection) else await given.connection()
    _require_transaction_of_sqlalchemy((await connection.get_raw_connection()).dbapi_connection)

    async def fetch(statement: NamedStatement) -> Rows:
        rows: Rows = (await connection.execute(*_for_sqlalchemy(statement))).mappings().all()
        return rows

    return fetch


def _require_transaction_of_sqlalchemy(driver: Any) -> None:
    if driver.autocommit:
        raise no_transaction("give one whose isolation level is not AUTOCOMMIT")


def _for_sqlalchemy(statement: NamedStatement) -> tuple[Any, dict[str, Any]]:
    from sqlalchemy import text

    names = _statements()[statement.name].names
    return text(_named(statement.name)), dict(zip(names, statement.arguments, strict=True))


@cache
def _named(statement: str) -> str:
    """The statement with its values by name, each in a cast of its own."""
    names = _statements()[statement].names
    numbered = _statements()[statement].text
    named = re.sub(r"\$([0-9]+)", lambda found: f":{names[int(found[1]) - 1]}", numbered)
    return _CAST.sub(r"CAST(:\1 AS \2)", named)


@cache
def _statements() -> dict[str, Prepared]:
    loaded = statements.load("tenure.storage.postgres")
    wanted = ("enqueue.record+keys", "enqueue.find", "listen")
    return {name: prepare(loaded[name]) for name in wanted}
