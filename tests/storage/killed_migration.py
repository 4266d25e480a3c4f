"""Migrating in a process that kills itself before its k-th statement, as a power cut would.

Each statement of a migration counts: they are taken one by one here, where the store sends PostgreSQL a whole
file.
"""

import asyncio
import os
import re
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import apsw
import asyncpg

from tenure.storage.address import store_for
from tenure.storage.postgres import schema
from tenure.storage.schema.migration import apply_all
from tests.storage.fork_server import PROCESSES

_TOKENS = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\$\$.*?\$\$|;|[^;'$-]+|.", re.DOTALL)


def migrates_until(statement: int, database: str) -> bool:
    """Migrate in a process that dies before that statement; returns whether it needed fewer and lives."""
    process = PROCESSES.Process(target=_migrate, args=(statement, database))
    process.start()
    process.join()
    if process.exitcode not in {0, -signal.SIGKILL}:
        raise RuntimeError(f"the process ended with {process.exitcode}")
    return process.exitcode == 0


def statements_of(text: str) -> list[str]:
    """The statements of an SQL text; a semicolon inside a string, a body or a comment ends none."""
    statements = [""]
    for token in _TOKENS.findall(text):
        if token == ";":
            statements.append("")
        elif not token.startswith("--"):
            statements[-1] += token
    return [statement for statement in statements if statement.strip()]


def _migrate(last: int, database: str) -> None:
    step = _countdown(last)
    asyncio.run(
        _on_sqlite(step, database) if database.startswith("sqlite:") else _on_postgres(step, database)
    )


def _countdown(last: int) -> Callable[[], None]:
    left = last

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return step


async def _on_sqlite(step: Callable[[], None], database: str) -> None:
    def trace(_cursor: Any, _statement: str, _bindings: Any) -> bool:
        step()
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = trace

    apsw.connection_hooks.append(watch)
    store = store_for(database)
    await store.open()
    await store.migrate()
    await store.close()


def _on_postgres(step: Callable[[], None], database: str) -> Coroutine[Any, Any, None]:
    class Mortal(asyncpg.Connection):
        """A connection that counts what it executes."""

        async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
            status = ""
            for statement in statements_of(query):
                step()
                status = await super().execute(statement, *args, timeout=timeout)
            return status

    async def migrate() -> None:
        connection = await asyncpg.connect(database, connection_class=Mortal)
        await apply_all(schema.PACKAGE, lambda: schema.apply_next(connection), None)
        await connection.close()

    return migrate()
