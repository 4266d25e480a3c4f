"""The heartbeat's own connection: opened first, never lent to anything else, never closed for being idle.

A lease must not be lost because other statements are slow, or because the server has no connection left.
"""

import asyncpg

from tenure.storage.postgres.wire.connections import Connections, Urgency
from tenure.storage.postgres.wire.servers import ServerFull, Servers


class OwnConnection:
    """One connection, for one borrower at a time."""

    def __init__(self, servers: Servers, others: Connections) -> None:
        self._servers = servers
        self._others = others
        self._connection: asyncpg.Connection | None = None
        self.is_lent = False

    async def take(self, deadline: float) -> asyncpg.Connection:
        """Borrow it. If it broke, a new one is opened, or taken from the others if the server gives none."""
        self.is_lent = True
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await self._open(deadline)
        except BaseException:
            self.is_lent = False
            raise
        return self._connection

    async def _open(self, deadline: float) -> asyncpg.Connection:
        try:
            return await self._servers.connect(deadline)
        except ServerFull:
            connection = await self._others.take(deadline, Urgency.HEARTBEAT)
            self._others.cede()
            return connection

    def give_back(self, connection: asyncpg.Connection) -> None:
        """The borrower is done, or a connection that was set aside can be used again."""
        if self._connection is connection:
            self.is_lent = False
        elif self._connection is None:
            self._connection = connection
        else:
            self._others.close_later(connection)

    def set_aside(self, connection: asyncpg.Connection) -> None:
        """Its statement is being cancelled, which may take long: the next heartbeat does not wait."""
        if self._connection is connection:
            self._connection, self.is_lent = None, False

    def drop(self, connection: asyncpg.Connection) -> None:
        """The borrower found it broken."""
        connection.terminate()
        self.set_aside(connection)
        self._others.on_lost()

    def close(self) -> None:
        """Close it."""
        if self._connection is not None:
            self._others.close_later(self._connection)
            self._connection = None
