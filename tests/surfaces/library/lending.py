"""Connections of every driver that callers may bring, each with a transaction that is open."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import apsw
import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio

NOTE = "CREATE TABLE IF NOT EXISTS note (text text)"


class Lent(NamedTuple):
    """A connection in a transaction; whatever its driver, SQL goes in by `run`, and it ends by `end`."""

    connection: Any
    run: Callable[[str], Any]
    end: Callable[[str], Any]
    """Takes `commit` or `rollback`."""


Lender = Callable[[str], AbstractAsyncContextManager[Lent]]
"""Opens a connection to the address of a database."""


@asynccontextmanager
async def _asyncpg(address: str) -> AsyncIterator[Lent]:
    connection = await asyncpg.connect(address)
    transaction = connection.transaction()
    await transaction.start()
    yield Lent(connection, connection.execute, lambda how: getattr(transaction, how)())
    await connection.close()


@asynccontextmanager
async def _asyncpg_pool(address: str) -> AsyncIterator[Lent]:
    async with asyncpg.create_pool(address, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield Lent(connection, connection.execute, lambda how: getattr(transaction, how)())


@asynccontextmanager
async def _psycopg(address: str) -> AsyncIterator[Lent]:
    with psycopg.connect(address) as connection:
        yield Lent(connection, connection.execute, lambda how: getattr(connection, how)())


@asynccontextmanager
async def _psycopg_async(address: str) -> AsyncIterator[Lent]:
    async with await psycopg.AsyncConnection.connect(address) as connection:
        yield Lent(connection, connection.execute, lambda how: getattr(connection, how)())


@asynccontextmanager
async def _sqlalchemy(address: str) -> AsyncIterator[Lent]:
    engine = sqlalchemy.create_engine(_dialect(address, "psycopg"))
    with engine.connect() as connection:
        yield Lent(connection, connection.exec_driver_sql, lambda how: getattr(connection, how)())
    engine.dispose()


@asynccontextmanager
async def _session(address: str) -> AsyncIterator[Lent]:
    engine = sqlalchemy.create_engine(_dialect(address, "psycopg"))
    with orm.Session(engine) as session:
        yield Lent(
            session, lambda sql: session.execute(sqlalchemy.text(sql)), lambda how: getattr(session, how)()
        )
    engine.dispose()


def _sqlalchemy_async(driver: str) -> Lender:
    @asynccontextmanager
    async def open_one(address: str) -> AsyncIterator[Lent]:
        engine = sqlalchemy_asyncio.create_async_engine(_dialect(address, driver))
        async with engine.connect() as connection:
            yield Lent(connection, connection.exec_driver_sql, lambda how: getattr(connection, how)())
        await engine.dispose()

    return open_one


@asynccontextmanager
async def _session_async(address: str) -> AsyncIterator[Lent]:
    engine = sqlalchemy_asyncio.create_async_engine(_dialect(address, "asyncpg"))
    async with sqlalchemy_asyncio.AsyncSession(engine) as session:
        yield Lent(
            session, lambda sql: session.execute(sqlalchemy.text(sql)), lambda how: getattr(session, how)()
        )
    await engine.dispose()


@asynccontextmanager
async def _apsw(address: str) -> AsyncIterator[Lent]:
    connection = apsw.Connection(address.removeprefix("sqlite:///"))
    connection.execute("BEGIN IMMEDIATE")
    yield Lent(connection, connection.execute, connection.execute)
    connection.close()


def _dialect(address: str, driver: str) -> str:
    return address.replace("postgresql://", f"postgresql+{driver}://", 1)


LENDERS: dict[str, tuple[str, bool, Lender]] = {
    "apsw": ("sqlite", True, _apsw),
    "asyncpg": ("postgres", False, _asyncpg),
    "asyncpg-pool": ("postgres", False, _asyncpg_pool),
    "psycopg": ("postgres", True, _psycopg),
    "psycopg-async": ("postgres", False, _psycopg_async),
    "sqlalchemy": ("postgres", True, _sqlalchemy),
    "sqlalchemy-session": ("postgres", True, _session),
    "sqlalchemy-asyncpg": ("postgres", False, _sqlalchemy_async("asyncpg")),
    "sqlalchemy-psycopg-async": ("postgres", False, _sqlalchemy_async("psycopg")),
    "sqlalchemy-async-session": ("postgres", False, _session_async),
}
"""By name: the store that it is for, whether it works in plain code, and how to open one."""
