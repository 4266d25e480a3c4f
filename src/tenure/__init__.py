"""Tenure: background jobs that are never lost once accepted.

The public names of the library are exactly those listed in ``__all__``. Those of the client of a server are
imported when they are first used: no handler's process should have to carry them.
"""

import typing as _typing

from tenure.core.errors import (
    DataRefused,
    Fatal,
    IdempotencyConflict,
    InvalidInput,
    InvalidJson,
    InvalidParams,
    JobBuried,
    JobCancelled,
    JobFailed,
    JobIsAside,
    JobNotFound,
    JobsAside,
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

if _typing.TYPE_CHECKING:
    from tenure.surfaces.remote.client import AsyncClient, Client
    from tenure.surfaces.remote.errors import (
        Conflict,
        NotAllowed,
        NotFound,
        Refused,
        RemoteError,
        TooMany,
        UnexpectedAnswer,
        Unreachable,
        Untrusted,
    )
    from tenure.surfaces.remote.values import RemoteEvent, RemoteJob

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "Context",
    "DataRefused",
    "Fatal",
    "IdempotencyConflict",
    "InvalidInput",
    "InvalidJson",
    "InvalidParams",
    "JobBuried",
    "JobCancelled",
    "JobFailed",
    "JobHandle",
    "JobIsAside",
    "JobNotFound",
    "JobUnfinished",
    "JobsAside",
    "LeaseLost",
    "NoResult",
    "NotAllowed",
    "NotFound",
    "ProgramFailed",
    "Refused",
    "RemoteError",
    "RemoteEvent",
    "RemoteJob",
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
    "TooMany",
    "UnexpectedAnswer",
    "UnknownDefinition",
    "Unreachable",
    "Untrusted",
    "__version__",
    "backoff",
]

_REMOTE = {
    "AsyncClient": "client",
    "Client": "client",
    "Conflict": "errors",
    "NotAllowed": "errors",
    "NotFound": "errors",
    "Refused": "errors",
    "RemoteError": "errors",
    "RemoteEvent": "values",
    "RemoteJob": "values",
    "TooMany": "errors",
    "UnexpectedAnswer": "errors",
    "Unreachable": "errors",
    "Untrusted": "errors",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _REMOTE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"tenure.surfaces.remote.{_REMOTE[name]}"), name)
    globals()[name] = found
    return found
