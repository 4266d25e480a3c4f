"""Connections of every driver that callers may pass, each with an open transaction."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import apsw
import asyncpg
import django  # type: ignore[import-untyped]
import psycopg
import sqlalchemy
from django.conf import settings  # type: ignore[import-untyped]
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio

NOTE = "CREATE TABLE IF NOT EXISTS note (text text)"


class CallerConnection(NamedTuple):
    """A caller's connection in a transaction; with any driver, `run` executes SQL and `end` ends it."""

    connection: Any
    run: Callable[[str], Any]
    end: Callable[[str], Any]
    """Takes `commit` or `rollback`."""


Connect = Callable[[str], AbstractAsyncContextManager[CallerConnection]]
"""Opens a connection to the address of a database."""


@asynccontextmanager
async def _asyncpg(address: str) -> AsyncIterator[CallerConnection]:
    connection = await asyncpg.connect(address)
    transaction = connection.transaction()
    await transaction.start()
    yield CallerConnection(connection, connection.execute, lambda how: getattr(transaction, how)())
    await connection.close()


@asynccontextmanager
async def _asyncpg_pool(address: str) -> AsyncIterator[CallerConnection]:
    async with asyncpg.create_pool(address, min_size=1, max_size=1) as pool, pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield CallerConnection(connection, connection.execute, lambda how: getattr(transaction, how)())


@asynccontextmanager
async def _psycopg(address: str) -> AsyncIterator[CallerConnection]:
    with psycopg.connect(address) as connection:
        yield CallerConnection(connection, connection.execute, lambda how: getattr(connection, how)())


@asynccontextmanager
async def _psycopg_async(address: str) -> AsyncIterator[CallerConnection]:
    async with await psycopg.AsyncConnection.connect(address) as connection:
        yield CallerConnection(connection, connection.execute, lambda how: getattr(connection, how)())


@asynccontextmanager
async def _sqlalchemy(address: str) -> AsyncIterator[CallerConnection]:
    engine = sqlalchemy.create_engine(_dialect(address, "psycopg"))
    with engine.connect() as connection:
        yield CallerConnection(connection, connection.exec_driver_sql, lambda how: getattr(connection, how)())
    engine.dispose()


@asynccontextmanager
async def _session(address: str) -> AsyncIterator[CallerConnection]:
    engine = sqlalchemy.create_engine(_dialect(address, "psycopg"))
    with orm.Session(engine) as session:
        yield CallerConnection(
            session, lambda sql: session.execute(sqlalchemy.text(sql)), lambda how: getattr(session, how)()
        )
    engine.dispose()


def _sqlalchemy_async(driver: str) -> Connect:
    @asynccontextmanager
    async def open_one(address: str) -> AsyncIterator[CallerConnection]:
        engine = sqlalchemy_asyncio.create_async_engine(_dialect(address, driver))
        async with engine.connect() as connection:
            yield CallerConnection(
                connection, connection.exec_driver_sql, lambda how: getattr(connection, how)()
            )
        await engine.dispose()

    return open_one


@asynccontextmanager
async def _session_async(address: str) -> AsyncIterator[CallerConnection]:
    engine = sqlalchemy_asyncio.create_async_engine(_dialect(address, "asyncpg"))
    async with sqlalchemy_asyncio.AsyncSession(engine) as session:
        yield CallerConnection(
            session, lambda sql: session.execute(sqlalchemy.text(sql)), lambda how: getattr(session, how)()
        )
    await engine.dispose()


def django_connection(address: str) -> Any:
    """A connection as `django.db.connections` has it."""
    from django.db import ConnectionHandler  # type: ignore[import-untyped]

    if not settings.configured:
        settings.configure(USE_TZ=True, LOGGING_CONFIG=None)
        django.setup()
    parts = urlsplit(address)
    named = {"NAME": parts.path[1:], "USER": parts.username, "HOST": parts.hostname, "PORT": parts.port}
    handler = ConnectionHandler(
        {"default": {"ENGINE": "django.db.backends.postgresql", "PASSWORD": parts.password, **named}}
    )
    return handler["default"]


@asynccontextmanager
async def _django(address: str) -> AsyncIterator[CallerConnection]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # its users would be in a thread of their own
    connection = django_connection(address)
    try:
        connection.set_autocommit(False)
        cursor = connection.cursor()
        yield CallerConnection(connection, cursor.execute, lambda how: getattr(connection, how)())
        cursor.close()
        connection.close()
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@asynccontextmanager
async def _apsw(address: str) -> AsyncIterator[CallerConnection]:
    connection = apsw.Connection(address.removeprefix("sqlite:///"))
    connection.execute("BEGIN IMMEDIATE")
    yield CallerConnection(connection, connection.execute, connection.execute)
    connection.close()


def _dialect(address: str, driver: str) -> str:
    return address.replace("postgresql://", f"postgresql+{driver}://", 1)


DRIVERS: dict[str, tuple[str, bool, Connect]] = {
    "apsw": ("sqlite", True, _apsw),
    "asyncpg": ("postgres", False, _asyncpg),
    "asyncpg-pool": ("postgres", False, _asyncpg_pool),
    "django": ("postgres", True, _django),
    "psycopg": ("postgres", True, _psycopg),
    "psycopg-async": ("postgres", False, _psycopg_async),
    "sqlalchemy": ("postgres", True, _sqlalchemy),
    "sqlalchemy-session": ("postgres", True, _session),
    "sqlalchemy-asyncpg": ("postgres", False, _sqlalchemy_async("asyncpg")),
    "sqlalchemy-psycopg-async": ("postgres", False, _sqlalchemy_async("psycopg")),
    "sqlalchemy-async-session": ("postgres", False, _session_async),
}
"""By name: the kind of store, whether the driver works in synchronous code, and how to open a connection."""
