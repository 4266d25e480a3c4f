"""The exit code of a command that failed, by what it failed with."""

from tenure.core.errors import InvalidInput, SchemaMismatch, StoreError, StoreRestored, TenureError
from tenure.execution.handler.handler import AppFailed


class NotInTime(TenureError):
    """A job has not ended in the time for which a command waits."""


EXIT_CODES: tuple[tuple[type[Exception], int], ...] = (
    (InvalidInput, 2),
    (AppFailed, 2),
    (SchemaMismatch, 6),
    (StoreRestored, 6),
    (StoreError, 3),
    (NotInTime, 4),
    (Exception, 1),
)
"""The first class that matches decides."""

INTERRUPTED = 130
