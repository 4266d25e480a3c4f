"""Jobs for a transaction of the caller: what the caller holds between asking and recording."""

from typing import Any, Protocol

from tenure.core.errors import InvalidInput
from tenure.core.model.job import Enqueued

Connection = Any
"""A connection of the caller, of any driver that the store knows."""


class Draft(Protocol):
    """Jobs that were checked and prepared, and are recorded on the caller's own connection.

    They commit or roll back with the rest of its transaction, and are not visible before. What the connection
    raises is its driver's own error, since the caller's transaction has failed.
    Recording runs in the caller's thread and on the caller's loop; it may be done once.
    """

    def record(self, connection: Connection) -> list[Enqueued]:
        """Record the jobs; answers in their order. Raises InvalidInput if no transaction is open."""

    async def record_async(self, connection: Connection) -> list[Enqueued]:
        """The same for a connection of an asynchronous driver; accepts a synchronous one as well."""


def comes_from(connection: Connection, package: str) -> bool:
    """Whether an object's class, or one that it is derived from, belongs to a package.

    By name, so that no driver is imported here: the caller has imported the one it uses.
    """
    return any(kind.__module__.partition(".")[0] == package for kind in type(connection).__mro__)


def unknown_connection(connection: Connection, known: str) -> InvalidInput:
    """The error for something that is not a known kind of connection."""
    kind = type(connection)
    return InvalidInput("connection", f"is a {kind.__module__}.{kind.__qualname__}", f"give {known}")


def no_transaction(remedy: str) -> InvalidInput:
    """The error for a connection on which a job would commit by itself, against the caller's intent."""
    return InvalidInput("connection", "has no open transaction", remedy)
