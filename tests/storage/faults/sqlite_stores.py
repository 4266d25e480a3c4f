"""Stores on SQLite files that get damaged, and other processes that lock them."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import apsw

from tenure.storage.sqlite.store import SqliteStore
from tests.storage.verbs import enqueue_one

_HOLDER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_handler(lambda _: True)
connection.execute(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncIterator[SqliteStore]:
    """A store on a file with the schema, closed at the end."""
    store = SqliteStore(path, **options)
    await store.open()
    try:
        await store.migrate()
        yield store
    finally:
        await store.close()


@contextmanager
def held_by_another_process(path: Path, how: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Have another process hold SQLite's own lock on the file while the block runs."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        # Its standard input is closed at the end, and it ends with that.


async def make(path: Path, jobs: int = 0, **options: Any) -> list[str]:
    """A database with some queued jobs, closed; returns their ids."""
    async with opened(path, **options) as store:
        return [str(await enqueue_one(store, key=f"key {n}")) for n in range(jobs)]


def ids_in(path: Path) -> set[str]:
    """The jobs that a process finds which opens the file now."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        return {str(job) for (job,) in connection.execute("SELECT id FROM tenure_job")}
    finally:
        connection.close()


def change_unguarded(path: Path, text: str) -> None:
    """Change the file past the database's own guards."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.pragma("ignore_check_constraints", True)
    connection.execute(text)
    connection.close()


@contextmanager
def frequent_checkpoints(pages: int) -> Iterator[None]:
    """Have SQLite checkpoint and restart its log many times in a short load."""

    def hook(connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(pages)

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)
