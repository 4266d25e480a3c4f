"""Lock waits and deadlocks, as the server counts them."""

from contextlib import suppress

from tests.storage.backends import PostgresBackend
from tests.until import until

PATIENCE = 60.0
"""Seconds until a wait counts as endless; none of these tests takes a tenth of that."""


async def until_waiting(backend: PostgresBackend, number: int) -> None:
    """Return once so many statements wait for a lock."""

    async def are_waiting() -> bool:
        return await _count(backend, "wait_event_type = 'Lock'") >= number

    await until(are_waiting)


async def until_connections(
    backend: PostgresBackend, which: str, most: int, within: float = PATIENCE
) -> None:
    """Return once no more than so many connections beside the backend's meet a condition in SQL."""

    async def are_few() -> bool:
        return await _count(backend, which) <= most

    await until(are_few, within)


async def deadlocks(backend: PostgresBackend, *, beside: int = 0) -> int:
    """The deadlocks found so far, once only so many connections besides the backend's are left.

    A connection's deadlocks are counted for certain only after it has ended.
    """
    await until_connections(backend, "true", beside)
    [(found_so_far,)] = await backend.sql(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )
    return int(found_so_far)


async def strangers(backend: PostgresBackend) -> int:
    """How many connections stay in a new database besides the backend's: none, unless one was left open."""
    with suppress(TimeoutError):
        await until_connections(backend, "true", 0, within=10)
    return await _count(backend, "true")


async def _count(backend: PostgresBackend, which: str) -> int:
    [(number,)] = await backend.sql(f"""
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend'
           AND pid <> pg_backend_pid() AND {which}""")
    return int(number)
