"""Real dumps: `pg_dump` of one server, `psql` into another."""

import asyncio
import subprocess
from pathlib import Path

import asyncpg

from tests.postgres_server import clean_environment
from tests.postgres_versions import USUAL, binaries_of

_AHEAD = 5000
"""Transactions, more than a restore takes."""


async def count_on(dsn: str) -> None:
    """Let a server count far ahead of one that is new."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            f"DO $$ BEGIN FOR i IN 1..{_AHEAD} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$"
        )
    finally:
        await connection.close()


async def dump(dsn: str, file: Path) -> None:
    """Dump a database, as docs/how-to/back-up-and-restore.md says."""
    await asyncio.to_thread(_run, "pg_dump", "--schema=tenure", f"--file={file}", dsn)


async def restore(dsn: str, file: Path) -> None:
    """Restore a dump into an empty database."""
    await asyncio.to_thread(
        _run, "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={file}", dsn
    )


def _run(program: str, *arguments: str) -> None:
    ran = subprocess.run(
        [str(binaries_of(USUAL) / program), *arguments],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
