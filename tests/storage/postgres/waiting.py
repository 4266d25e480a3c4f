"""Who waits for whom, as the server sees it."""

import asyncio

from tests.storage.backends import PostgresBackend

PATIENCE = 60.0
"""Seconds after which what should come is taken never to come; none of these tests takes a tenth of that."""


async def until_waiting(backend: PostgresBackend, number: int) -> None:
    """Return once so many statements wait for a lock."""
    async with asyncio.timeout(PATIENCE):
        while await _backends(backend, "wait_event_type = 'Lock'") < number:
            pass


async def deadlocks(backend: PostgresBackend, *, beside: int = 0) -> int:
    """The deadlocks that the server has found so far, once so many connections beside the backend's are left.

    A connection's deadlocks are counted for certain only when it has ended.
    """
    async with asyncio.timeout(PATIENCE):
        while await _backends(backend, "true") > beside:
            pass
    [(found_so_far,)] = await backend.sql(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    return int(found_so_far)


async def _backends(backend: PostgresBackend, which: str) -> int:
    [(number,)] = await backend.sql(f"""
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend'
           AND pid <> pg_backend_pid() AND {which}""")
    return int(number)
