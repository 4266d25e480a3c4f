"""The real command in a process of its own, and plain SQL on the database that it was given.

What runs to its end without anybody looking on is forked off a process that has imported it before.
"""

import asyncio
import os
import pty
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import apsw
import asyncpg

from tests import canaries
from tests.surfaces.forking import AT_START, Forks

COMMAND = [sys.executable, "-m", "tenure"]
PLAIN_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A locale in which Python itself writes nothing but ASCII."""

PATIENCE = 60.0
"""Seconds after which what should end is taken never to end."""

_STEERING = ("TENURE_", "PYTHON", "LC_", "LANG", "NO_COLOR", "PG")


def environment(**changed: str) -> dict[str, str]:
    """The tests' own environment without what would steer the command, and with what the test asks for."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_STEERING)}
    return {**kept, canaries.VARIABLE: canaries.ENVIRONMENT, "LANG": "C.UTF-8", **changed}


def tenure(folder: Path, *arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder until it ends, in an interpreter of its own only where that matters."""
    if not any(name.startswith(AT_START) for name in changed):
        return _forks().run(arguments, folder, environment(**changed), PATIENCE)
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(**changed),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )


@cache
def _forks() -> Forks:
    return Forks(environment())


def fails(ran: subprocess.CompletedProcess[str], code: int, *said: str) -> bool:
    """Whether a run ended as a failure should: by its code, with one line of error and no output."""
    assert ran.returncode == code, ran
    assert ran.stdout == ""
    assert ran.stderr.startswith("Error: ")
    assert ran.stderr.count("\n") == 1
    return all(words in ran.stderr for words in said)


def sql(database: str, text: str) -> list[tuple[Any, ...]]:
    """Run plain SQL, written with PostgreSQL's names, on a database of either kind."""
    if database.startswith("sqlite:///"):
        connection = apsw.Connection(database.removeprefix("sqlite:///"))
        try:
            return list(connection.execute(text.replace("tenure.", "tenure_")))
        finally:
            connection.close()
    return asyncio.run(_on_postgres(database, text))


async def _on_postgres(dsn: str, text: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(text)]
    finally:
        await connection.close()


def make_newer(database: str) -> None:
    """Let a migrated database look as if a later version of tenure had been there."""
    sql(
        database,
        "INSERT INTO tenure.migration (number, name, applied_at) "
        "SELECT 9999, 'from_the_future', max(applied_at) FROM tenure.migration",
    )


def on_a_terminal(folder: Path, *arguments: str, columns: int = 80, **changed: str) -> tuple[int, str]:
    """The exit code of a command, and what it writes to a terminal that it believes in."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(COLUMNS=str(columns), **changed),
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65_536):
            written += chunk
    except OSError:
        pass  # Linux's way to say that the other side of a terminal is closed.
    finally:
        os.close(ours)
    canaries.look("a terminal", written)
    return running.wait(timeout=60), written.decode().replace("\r\n", "\n")
