"""Errors of PostgreSQL and its driver, translated into those of `tenure.core.errors`."""

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
    """The transaction conflicted with another one and was rolled back; nothing was written."""


def translate(error: Exception, where: str, *, sent: bool = True) -> StoreError:
    """Translate an error; `sent`: the server may have received the statement."""
    code = str(getattr(error, "sqlstate", None) or "")
    if isinstance(error, asyncpg.DeadlockDetectedError | asyncpg.SerializationError):
        return Collision("the transaction conflicted with another one; nothing was written, try again")
    if isinstance(error, asyncpg.LockNotAvailableError):
        return StoreBusy(
            "another open transaction holds a lock that is needed; nothing was written, try again"
        )
    if code in ("42P01", "3F000", "42883"):
        return SchemaMismatch(
            f"the database at {where} has no tenure schema, or an older one: run `tenure migrate`"
        )
    if isinstance(error, ValueError):
        return StoreRefused(f"a value cannot be sent to PostgreSQL: {brief(error)}")
    if is_read_only(error):
        return StoreUnavailable(f"PostgreSQL at {where} takes no writes now: {brief(error)}")
    if not code or code.startswith(_OUTAGE_CLASSES):
        unknown = sent and not _is_undone(error)
        if "unsupported startup parameter" in str(error):
            return StoreUnavailable(f"a pooler answers at {where}: add pooled=true to the address")
        return StoreUnavailable(f"PostgreSQL at {where} is not available: {brief(error)}", unknown=unknown)
    if code == _GUARD:
        return DataRefused(f"the database refused the step: {brief(error)}", code)
    if is_data_error(error):
        return DataRefused(f"PostgreSQL refused the statement ({code}): {brief(error)}", code)
    return StoreRefused(f"PostgreSQL refused the statement ({code}): {brief(error)}")


def is_read_only(error: BaseException) -> bool:
    """Whether the server only reads: it is a standby, or was made one. Another may have taken its place."""
    return isinstance(error, asyncpg.ReadOnlySQLTransactionError)


def is_data_error(error: Exception) -> bool:
    """Whether the error is about the data, and not about permissions, a read-only server or an outage."""
    code = str(getattr(error, "sqlstate", None) or "")
    return code == _GUARD or code.startswith(_DATA_CLASSES)


def _is_undone(error: Exception) -> bool:
    """Whether the server reports that it did nothing, as for a full disk, but not for its own shutdown."""
    return isinstance(error, _UNSENT) or getattr(error, "severity_en", None) == "ERROR"


def brief(error: Exception) -> str:
    """The first line of the message."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (str(error).splitlines() or [type(error).__name__])[0][:200] or type(error).__name__
