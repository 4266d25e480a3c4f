"""A transaction of several statements, and trials within it that leave nothing behind."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import asyncpg

from tenure.storage.postgres.refusals import is_of_data

Connection = asyncpg.Connection | asyncpg.pool.PoolConnectionProxy


class Transaction:
    """Runs statements by name, one after the other, in a transaction that somebody else ends."""

    def __init__(
        self,
        connection: Connection,
        asked: Callable[[str, Mapping[str, Any]], tuple[str, Sequence[Any]]],
    ) -> None:
        self._connection = connection
        self._asked = asked

    async def __call__(self, statement: str, /, **values: object) -> list[asyncpg.Record]:
        """Run a statement."""
        text, arguments = self._asked(statement, values)
        return await self._connection.fetch(text, *arguments)

    async def refusal(self, statement: str, /, **values: object) -> asyncpg.PostgresError | None:
        """What the server says against the data of a statement; either way it is as if it had not run."""
        trial = self._connection.transaction()
        await trial.start()
        try:
            await self(statement, **values)
        except asyncpg.PostgresError as error:
            if not is_of_data(error):
                raise
            return error
        else:
            return None
        finally:
            if not self._connection.is_closed():
                await trial.rollback()
