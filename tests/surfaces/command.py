"""Runs the real command in a process of its own, and plain SQL on its database.

A command that just runs to its end is forked off a process that has imported it before.
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
from tests.surfaces.forked_commands import AT_START, Forks

COMMAND = [sys.executable, "-m", "tenure"]
PLAIN_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
"""A locale in which Python itself writes nothing but ASCII."""

PATIENCE = 60.0
"""Seconds after which a command that should end is taken to hang."""

_STEERING = ("TENURE_", "PYTHON", "LC_", "LANG", "NO_COLOR", "PG")


def environment(**changed: str) -> dict[str, str]:
    """The tests' own environment, without variables that affect the command, and with those of the test."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_STEERING)}
    return {**kept, canaries.VARIABLE: canaries.ENVIRONMENT, "LANG": "C.UTF-8", **changed}


def tenure(folder: Path, *arguments: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder until it ends, in a new interpreter only where that matters."""
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


def fails(ran: subprocess.CompletedProcess[str], code: int, *texts: str) -> bool:
    """Whether a run failed as it should: with this exit code, one line of error, and no output."""
    assert ran.returncode == code, ran
    assert ran.stdout == ""
    assert ran.stderr.startswith("Error: ")
    assert ran.stderr.count("\n") == 1
    return all(text in ran.stderr for text in texts)


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


def make_newer(database: str, *, reads_from: int = 9999) -> None:
    """Make a migrated database look as if a later version of Tenure had migrated it."""
    sql(
        database,
        "INSERT INTO tenure.migration (number, name, applied_at, reads_from) "
        f"SELECT 9999, 'from_the_future', max(applied_at), {reads_from} FROM tenure.migration",
    )


def on_a_terminal(folder: Path, *arguments: str, columns: int = 80, **changed: str) -> tuple[int, str]:
    """Run a command on a pseudo-terminal; returns its exit code and its output."""
    return answering(folder, "", *arguments, columns=columns, **changed)


def answering(
    folder: Path, typed: str, *arguments: str, columns: int = 80, **changed: str
) -> tuple[int, str]:
    """Run a command on a pseudo-terminal on which something was typed, and which shows its questions too."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(COLUMNS=str(columns), **changed),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs if typed else subprocess.DEVNULL,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    written = b""
    try:
        while chunk := os.read(ours, 65_536):
            written += chunk
    except OSError:
        pass  # Linux raises this when the other side of a terminal is closed.
    finally:
        os.close(ours)
    canaries.look("a terminal", written)
    return running.wait(timeout=60), written.decode().replace("\r\n", "\n")
