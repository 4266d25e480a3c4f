"""Connections to the databases of tests that outlive a test: a new one costs the server more than most tests.

It begins without a catalogue and without a plan, and has both after a few statements. Whatever else belongs
to a store is new for each test. All tests that share connections share their event loop.
"""

import asyncpg

from tenure.storage.contract.store import Store
from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Pool
from tenure.storage.postgres.wire.wakeups import WakeupChannel
from tests.postgres_server import PostgresServer
from tests.storage.backends import Backend, PostgresBackend


class Kept:
    """Idle connections, by address."""

    def __init__(self) -> None:
        self.idle: dict[str, asyncpg.Connection] = {}
        self.connections: dict[str, asyncpg.Connection] = {}

    def store(self, backend: Backend) -> Store:
        """A store on the backend, not yet opened."""
        return _KeptStore(backend.dsn, self) if isinstance(backend, PostgresBackend) else backend.store()

    def backend(self, server: PostgresServer) -> PostgresBackend:
        """A database for all tests that keep connections to the server, not yet prepared."""
        return _KeptBackend(server, self)

    def drop(self) -> None:
        """Disconnect; the servers may have ended before."""
        for connection in (*self.idle.values(), *self.connections.values()):
            connection.terminate()


class _KeptBackend(PostgresBackend):
    def __init__(self, server: PostgresServer, kept: Kept) -> None:
        # Not the database of tests that list connections.
        super().__init__(server, "kept")
        self._kept = kept

    async def connect(self) -> asyncpg.Connection:
        return self._kept.connections.pop(self.dsn, None) or await super().connect()

    async def dispose(self) -> None:
        if self._connection.is_closed() or self._connection.is_in_transaction():
            await super().dispose()
        else:
            self._kept.connections[self.dsn] = self._connection


class _KeptPool(Pool):
    def __init__(self, dsn: str, kept: Kept) -> None:
        super().__init__(read_address(dsn), size=10, timeout=30.0)
        self._dsn = dsn
        self._kept = kept

    async def _connect(self) -> None:
        if (connection := self._kept.idle.pop(self._dsn, None)) is None:
            await super()._connect()
        else:
            self.connections._open += 1
            self.connections.give_back(connection)

    async def _disconnect(self) -> None:
        if self._dsn not in self._kept.idle and (connection := self.connections.take_idle()) is not None:
            self.connections.cede()
            self._kept.idle[self._dsn] = connection
        await super()._disconnect()


class _KeptStore(PostgresStore):
    def __init__(self, dsn: str, kept: Kept) -> None:
        super().__init__(dsn)
        self._pool = _KeptPool(dsn, kept)
        self._lines = LineIds(self._pool)
        self._wakeups = WakeupChannel(self._pool, enabled=True, on_queued=self._scans.note_hint)
