"""A transaction of several statements, and trials within it that are rolled back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import asyncpg

from tenure.storage.postgres.wire.errors import is_data_error

Connection = asyncpg.Connection


class Transaction:
    """Runs statements by name, one after the other; the caller ends the transaction."""

    def __init__(
        self,
        connection: Connection,
        bind: Callable[[str, Mapping[str, Any]], tuple[str, Sequence[Any]]],
    ) -> None:
        self._connection = connection
        self._bind = bind

    async def __call__(self, statement: str, /, **values: object) -> list[asyncpg.Record]:
        """Run a statement."""
        text, arguments = self._bind(statement, values)
        return await self._connection.fetch(text, *arguments)

    async def refusal(self, statement: str, /, **values: object) -> asyncpg.PostgresError | None:
        """The server's error about a statement's data, if any; the statement is rolled back either way."""
        trial = self._connection.transaction()
        await trial.start()
        try:
            await self(statement, **values)
        except asyncpg.PostgresError as error:
            if not is_data_error(error):
                raise
            return error
        else:
            return None
        finally:
            if not self._connection.is_closed():
                await trial.rollback()
