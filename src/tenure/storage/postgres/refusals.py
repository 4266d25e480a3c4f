"""What PostgreSQL and its driver refuse or fail at: the one place where their errors become ours."""

import ssl

import asyncpg

from tenure.core.errors import (
    DataRefused,
    SchemaMismatch,
    StoreBusy,
    StoreError,
    StoreRefused,
    StoreUnavailable,
)

DRIVER_ERRORS = (
    *(asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError),
    *(OSError, TimeoutError, ssl.SSLError, ValueError),
)
"""What the driver may raise."""

_GUARD = "TN001"
_DATA_CLASSES = ("22", "23")
_OUTAGE_CLASSES = ("08", "28", "3D", "53", "57", "58")
_UNSENT = (asyncpg.CannotConnectNowError, asyncpg.TooManyConnectionsError)


class Collision(StoreBusy):
    """Two transactions got in each other's way and ours was undone; nothing was written."""


def ours(error: Exception, where: str, *, sent: bool = True) -> StoreError:
    """The error of `tenure.core.errors` that says the same; `sent`: the server may have got the statement."""
    code = str(getattr(error, "sqlstate", None) or "")
    if isinstance(error, asyncpg.DeadlockDetectedError | asyncpg.SerializationError):
        return Collision("two transactions got in each other's way; nothing was written, try again")
    if isinstance(error, asyncpg.LockNotAvailableError):
        return StoreBusy("another open transaction holds what was needed; nothing was written, try again")
    if code in ("42P01", "3F000", "42883"):
        return SchemaMismatch(
            f"the database at {where} has no tenure schema, or an older one: run `tenure migrate`"
        )
    if isinstance(error, ValueError):
        return StoreRefused(f"a value cannot be sent to PostgreSQL: {brief(error)}")
    if not code or code.startswith(_OUTAGE_CLASSES):
        unknown = sent and not _says_undone(error)
        if "unsupported startup parameter" in str(error):
            return StoreUnavailable(f"a pooler answers at {where}: add pooled=true to the address")
        return StoreUnavailable(f"PostgreSQL at {where} is not available: {brief(error)}", unknown=unknown)
    if code == _GUARD:
        return DataRefused(f"the database refused the step: {brief(error)}", code)
    if is_of_data(error):
        return DataRefused(f"PostgreSQL refused the statement ({code}): {brief(error)}", code)
    return StoreRefused(f"PostgreSQL refused the statement ({code}): {brief(error)}")


def is_of_data(error: Exception) -> bool:
    """Whether the reason lies in the data: not in rights, a server that only reads, an error of its own."""
    code = str(getattr(error, "sqlstate", None) or "")
    return code == _GUARD or code.startswith(_DATA_CLASSES)


def _says_undone(error: Exception) -> bool:
    """Whether the server itself says that it did not do it: a full disk, say, but not its own end."""
    return isinstance(error, _UNSENT) or getattr(error, "severity_en", None) == "ERROR"


def brief(error: Exception) -> str:
    """The first line of what was said."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (str(error).splitlines() or [type(error).__name__])[0][:200] or type(error).__name__
