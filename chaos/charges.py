"""What transactions of handlers have written: a table of their own beside those of jobs, on PostgreSQL."""

from uuid import UUID

import asyncpg
from msgspec import Struct


class Charge(Struct, frozen=True):
    """A row, under the fence of the attempt that wrote it."""

    job: UUID
    step: str
    fence: int


async def make_table(address: str) -> None:
    """Make the table, which is empty."""
    connection = await asyncpg.connect(address)
    await connection.execute("CREATE TABLE charges (job uuid, step text, fence bigint)")
    await connection.close()


async def read(address: str) -> list[Charge]:
    """All rows of it; there are none on SQLite."""
    if not address.startswith("postgresql"):
        return []
    connection = await asyncpg.connect(address)
    found = [Charge(*row) for row in await connection.fetch("SELECT job, step, fence FROM charges")]
    await connection.close()
    return found
