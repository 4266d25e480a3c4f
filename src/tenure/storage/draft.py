"""Jobs on their way into a transaction that is not ours: what callers hold between asking and recording."""

from typing import Any, Protocol

from tenure.core.errors import InvalidInput
from tenure.core.job import Enqueued

Connection = Any
"""A connection of the caller's, of any driver that the store knows."""


class Draft(Protocol):
    """Jobs that were judged and made ready, and are recorded by the caller's own connection.

    They commit or vanish with whatever else its transaction does, and nobody sees them before. What the
    connection raises is its driver's own error, since it is the caller's transaction that has failed.
    Recording runs in the caller's thread and on the caller's loop; it may be done once.
    """

    def record(self, connection: Connection) -> list[Enqueued]:
        """Record the jobs; answers in their order. Raises InvalidInput for what is no open transaction."""

    async def record_async(self, connection: Connection) -> list[Enqueued]:
        """The same for a connection of an asynchronous driver; takes one of the other kind as well."""


def comes_from(connection: Connection, package: str) -> bool:
    """Whether an object's class, or one that it is derived from, belongs to a package.

    Asked by name: whoever gives us a connection has imported its driver, nobody else needs to.
    """
    return any(kind.__module__.partition(".")[0] == package for kind in type(connection).__mro__)


def unknown_connection(connection: Connection, known: str) -> InvalidInput:
    """What to raise for something that is no connection we know."""
    kind = type(connection)
    return InvalidInput("connection", f"is a {kind.__module__}.{kind.__qualname__}", f"give {known}")


def no_transaction(remedy: str) -> InvalidInput:
    """What to raise where a job would be committed by itself, though its caller believes otherwise."""
    return InvalidInput("connection", "has no open transaction", remedy)
