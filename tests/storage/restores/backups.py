"""Every way to back a store up that docs/how-to/back-up-and-restore.md names, by the same programs."""

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import apsw
import asyncpg

from tenure.storage.address import store_for
from tenure.storage.contract.store import Store
from tests.postgres_server import PostgresServer, clean_environment
from tests.postgres_versions import USUAL, binaries_of
from tests.storage.migrated_databases import create_migrated

_AHEAD = 5000
"""Transactions: more than a restore takes."""


class Backup(Protocol):
    """A store that is going to be lost, and a way to back it up."""

    async def prepare(self) -> str:
        """Make the store; returns its address."""

    async def take(self, file: Path) -> None:
        """Back it up while it is in use."""

    async def restore(self, file: Path) -> str:
        """Restore the backup elsewhere; returns the address."""


class Dump:
    """`pg_dump`, and `psql` into a server that is new."""

    def __init__(self, old: PostgresServer, new: PostgresServer) -> None:
        self._old = old
        self._new = new
        self._dsn = ""

    async def prepare(self) -> str:
        self._dsn = create_migrated(self._old, f"old_{uuid4().hex}")
        connection = await asyncpg.connect(self._dsn)
        # A server that has lived: it is far ahead of one that is new.
        await connection.execute(
            f"DO $$ BEGIN FOR i IN 1..{_AHEAD} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
        )
        await connection.close()
        return self._dsn

    async def take(self, file: Path) -> None:
        await _run(str(binaries_of(USUAL) / "pg_dump"), "--schema=tenure", f"--file={file}", self._dsn)

    async def restore(self, file: Path) -> str:
        dsn = self._new.create_database(f"new_{uuid4().hex}")
        psql = [str(binaries_of(USUAL) / "psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
        await _run(*psql, f"--file={file}", dsn)
        return dsn


class ShellBackup:
    """`.backup` in SQLite's shell; the copy is put into another folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "jobs.db"
        self._again = folder / "again.db"

    async def prepare(self) -> str:
        store = await opened(f"sqlite:///{self._file}")
        await store.migrate()
        await store.close()
        return f"sqlite:///{self._file}"

    async def take(self, file: Path) -> None:
        await _run(sys.executable, "-m", "apsw", str(self._file), f".backup '{file}'")

    async def restore(self, file: Path) -> str:
        await asyncio.to_thread(shutil.copyfile, file, self._again)
        return f"sqlite:///{self._again}"


class Vacuum(ShellBackup):
    """`VACUUM INTO`."""

    async def take(self, file: Path) -> None:
        def copy() -> None:
            connection = apsw.Connection(str(self._file))
            connection.set_busy_timeout(30_000)
            connection.execute("VACUUM INTO ?", (str(file),))
            connection.close()

        await asyncio.to_thread(copy)


async def opened(address: str) -> Store:
    """A store on a database, as it is."""
    store = store_for(address)
    await store.open()
    return store


async def _run(*command: str) -> None:
    ran = await asyncio.to_thread(
        subprocess.run,
        command,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
