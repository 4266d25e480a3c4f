"""Which process waits for which, as the server sees it, or for a file the system's list of locks."""

import asyncio
from pathlib import Path
from typing import Protocol

from tests.storage.backends import Backend, SqliteBackend

PATIENCE = 60.0
"""Seconds until a test counts as stuck; none takes a tenth of that."""

LOCKS = Path("/proc/locks")


class Process(Protocol):
    """A process, by its name at the server and its pid."""

    name: str
    pid: int


async def is_waiting(backend: Backend, waiter: Process, *, behind: Process) -> bool:
    """Whether one process waits at this moment for a lock that the other one holds."""
    if isinstance(backend, SqliteBackend):
        queue = await asyncio.to_thread(_queue_at, Path(f"{backend.path}-turn"))
        return queue[:1] == [behind.pid] and waiter.pid in queue[1:]
    [(number,)] = await backend.sql(f"""
        SELECT count(*) FROM pg_stat_activity waiter
          JOIN pg_stat_activity holder ON holder.pid = ANY (pg_blocking_pids(waiter.pid))
         WHERE waiter.wait_event_type = 'Lock'
           AND waiter.application_name = '{waiter.name}' AND holder.application_name = '{behind.name}'""")
    return bool(number)


def _queue_at(file: Path) -> list[int]:
    """The processes that hold the file's lock or wait for it, the holder first.

    A line of the list reads `7: FLOCK ADVISORY WRITE 4711 fe:00:2150159 0 EOF`, a waiter's `7: -> FLOCK …`.
    """
    inode = file.stat().st_ino
    lines = [line.replace("->", "").split() for line in LOCKS.read_text().splitlines()]
    return [int(words[4]) for words in lines if words[1] == "FLOCK" and words[5].endswith(f":{inode}")]
