"""Tenure: background jobs that are never lost once accepted.

The public names of the library are exactly those listed in ``__all__``.
"""

from tenure.core.errors import (
    Fatal,
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    InvalidParams,
    JobBuried,
    JobCancelled,
    JobFailed,
    JobNotFound,
    JobUnfinished,
    LeaseLost,
    NoResult,
    ProgramFailed,
    Retry,
    SchemaMismatch,
    Snooze,
    StoreBusy,
    StoreError,
    StoreForbidden,
    StoreRefused,
    StoreUnavailable,
    TenureError,
    UnknownDefinition,
)
from tenure.core.states import State
from tenure.execution.context import Context
from tenure.surfaces.library.app import Tenure
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.options import backoff
from tenure.version import __version__

__all__ = [
    "Context",
    "Fatal",
    "IdempotencyConflict",
    "InvalidInput",
    "InvalidJson",
    "InvalidParams",
    "JobBuried",
    "JobCancelled",
    "JobFailed",
    "JobHandle",
    "JobNotFound",
    "JobUnfinished",
    "LeaseLost",
    "NoResult",
    "ProgramFailed",
    "Retry",
    "SchemaMismatch",
    "Snooze",
    "State",
    "StoreBusy",
    "StoreError",
    "StoreForbidden",
    "StoreRefused",
    "StoreUnavailable",
    "Tenure",
    "TenureError",
    "UnknownDefinition",
    "__version__",
    "backoff",
]
