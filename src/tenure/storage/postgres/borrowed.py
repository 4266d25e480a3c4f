"""Connections that are lent to us inside an open transaction: which drivers we know, and how each is asked.

A driver is imported only when somebody hands over a connection of its making. Each must be in a transaction,
or begin one by itself: on a connection that commits after every statement a job would be kept though its
caller believes that it can still be taken back.
"""

import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tenure.storage import statements
from tenure.storage.draft import Connection, comes_from, no_transaction, unknown_connection
from tenure.storage.postgres.literals import Prepared, prepared
from tenure.storage.values import Row

Rows = Sequence[Row]

_KNOWN = "a connection of asyncpg, psycopg 3 or SQLAlchemy 2 with an open transaction"
# SQLAlchemy would take the first of the colons in `:name::type` for its own.
_CAST = re.compile(r"(?<![:\w]):([a-z_]+)::(\w+(?:\[\])?)")


class Asked(NamedTuple):
    """A statement by its name, and its values."""

    statement: str
    values: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The statement with `$1, $2 …` for its values."""
        return _statements()[self.statement].text

    @property
    def arguments(self) -> Sequence[Any]:
        """The values, in the order in which the text counts them."""
        return _statements()[self.statement].arguments(self.values)


Fetch = Callable[[Asked], Rows]
FetchAsync = Callable[[Asked], Awaitable[Rows]]


def plain(connection: Connection) -> Fetch | None:
    """How to ask a connection that blocks; None for one that does not. Raises InvalidInput for any other."""
    if comes_from(connection, "psycopg"):
        return _psycopg(connection)
    if comes_from(connection, "sqlalchemy"):
        return _sqlalchemy(connection)
    if comes_from(connection, "asyncpg"):
        return None
    raise unknown_connection(connection, _KNOWN)


async def awaited(connection: Connection) -> FetchAsync:
    """How to ask a connection that must be awaited, of which `plain` said so."""
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

    async def fetch(asked: Asked) -> Rows:
        rows: Rows = await connection.fetch(asked.text, *asked.arguments)
        return rows

    return fetch


def _psycopg(connection: Connection) -> Fetch | None:
    import psycopg
    from psycopg.rows import dict_row

    if isinstance(connection, psycopg.AsyncConnection):
        return None
    if not isinstance(connection, psycopg.Connection):
        raise unknown_connection(connection, _KNOWN)
    _require_transaction_of_psycopg(connection)

    def fetch(asked: Asked) -> Rows:
        with psycopg.RawCursor(connection, row_factory=dict_row) as cursor:
            return cursor.execute(asked.text, asked.arguments).fetchall()

    return fetch


def _psycopg_async(connection: Connection) -> FetchAsync:
    import psycopg
    from psycopg.rows import dict_row

    _require_transaction_of_psycopg(connection)

    async def fetch(asked: Asked) -> Rows:
        async with psycopg.AsyncRawCursor(connection, row_factory=dict_row) as cursor:
            return await (await cursor.execute(asked.text, asked.arguments)).fetchall()

    return fetch


def _require_transaction_of_psycopg(connection: Connection) -> None:
    from psycopg.pq import TransactionStatus

    if connection.autocommit and connection.info.transaction_status == TransactionStatus.IDLE:
        raise no_transaction("use it inside `with connection.transaction():`")


def _sqlalchemy(lent: Connection) -> Fetch | None:
    from sqlalchemy import Connection as Plain
    from sqlalchemy.orm import Session, scoped_session

    if not isinstance(lent, Plain | Session | scoped_session):
        if _is_of_async_sqlalchemy(lent):
            return None
        raise unknown_connection(lent, _KNOWN)
    connection = lent if isinstance(lent, Plain) else lent.connection()
    _require_transaction_of_sqlalchemy(connection.connection.dbapi_connection)

    def fetch(asked: Asked) -> Rows:
        return connection.execute(*_for_sqlalchemy(asked)).mappings().all()

    return fetch


def _is_of_async_sqlalchemy(lent: Connection) -> bool:
    if "sqlalchemy.ext.asyncio" not in sys.modules:
        # Whoever has such a connection has imported it. For others it may not be there: it needs greenlet.
        return False
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

    return isinstance(lent, AsyncConnection | AsyncSession | async_scoped_session)


async def _sqlalchemy_async(lent: Connection) -> FetchAsync:
    from sqlalchemy.ext.asyncio import AsyncConnection

    connection = lent if isinstance(lent, AsyncConnection) else await lent.connection()
    _require_transaction_of_sqlalchemy((await connection.get_raw_connection()).dbapi_connection)

    async def fetch(asked: Asked) -> Rows:
        rows: Rows = (await connection.execute(*_for_sqlalchemy(asked))).mappings().all()
        return rows

    return fetch


def _require_transaction_of_sqlalchemy(driver: Any) -> None:
    if driver.autocommit:
        raise no_transaction("give one whose isolation level is not AUTOCOMMIT")


def _for_sqlalchemy(asked: Asked) -> tuple[Any, dict[str, Any]]:
    from sqlalchemy import text

    form = _statements()[asked.statement]
    return text(_named(asked.statement)), dict(zip(form.names, asked.arguments, strict=True))


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
    return {name: prepared(loaded[name]) for name in wanted}
