"""Opens connections to the servers of an address, to the one that takes writes.

The driver could try one server after the other by itself, but a machine that is gone does not answer at all:
the first such server would use up all the time. So each is tried alone and has a part of the time. The one
that answered last is tried first.
"""

import asyncio
import os
from time import monotonic
from typing import Any

import asyncpg

from tenure.core.errors import StoreUnavailable
from tenure.storage.postgres.wire.addresses import DatabaseServer, PostgresAddress
from tenure.storage.postgres.wire.errors import DRIVER_ERRORS, translate

_PART = 5.0
"""The most seconds that one server of several may take to answer."""

_CHOSEN_OUTSIDE = "PGTARGETSESSIONATTRS"


class ServerFull(StoreUnavailable):
    """The server has no connection to spare for this process; nothing was sent."""


class Servers:
    """The servers of one address."""

    def __init__(self, address: PostgresAddress, options: dict[str, Any]) -> None:
        self._address = address
        self._options = dict(options)
        if len(address.servers) > 1 and address.target is None and not os.environ.get(_CHOSEN_OUTSIDE):
            # Otherwise the first that answers would do, even one that only reads.
            self._options["target_session_attrs"] = "read-write"
        self._order = list(address.servers)

    @property
    def where(self) -> str:
        """What to call them in messages."""
        return self._address.where

    async def connect(self, deadline: float, **options: Any) -> asyncpg.Connection:
        """A new connection. Raises ServerFull, or StoreUnavailable when there is none by the deadline."""
        if len(self._order) < 2:
            return await self._open(None, deadline, options)
        errors: list[StoreUnavailable] = []
        for tried, server in enumerate(tuple(self._order)):
            part = (deadline - monotonic()) / (len(self._order) - tried)
            try:
                found = await self._open(server, monotonic() + min(part, _PART), options)
            except StoreUnavailable as error:
                errors.append(error)
            else:
                self._order.remove(server)
                self._order.insert(0, server)
                return found
        full = next((error for error in errors if isinstance(error, ServerFull)), None)
        raise full or StoreUnavailable("; ".join(map(str, errors)))

    async def _open(
        self, server: DatabaseServer | None, deadline: float, options: dict[str, Any]
    ) -> asyncpg.Connection:
        named: dict[str, Any] = {} if server is None else {"host": server.host, "port": server.port}
        where = self.where if server is None else f"{server}/{self._address.name}"
        try:
            async with asyncio.timeout_at(deadline):
                opened: asyncpg.Connection = await asyncpg.connect(
                    self._address.dsn, **{**self._options, **options, **named}
                )
                return opened
        except asyncpg.TooManyConnectionsError as error:
            raise ServerFull(str(translate(error, where, sent=False))) from error
        except asyncpg.TargetServerAttributeNotMatched as error:
            raise StoreUnavailable(f"PostgreSQL at {where} takes no writes now") from error
        except DRIVER_ERRORS as error:
            raise translate(error, where, sent=False) from error
