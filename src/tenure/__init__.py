"""Tenure: background jobs that are never lost once accepted.

The public names of the library are exactly those listed in ``__all__``. Those that no handler needs, such as
the client of a server, are imported when they are first used: a handler's process does not carry them.
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
    JobNotWaiting,
    JobUnfinished,
    LeaseLost,
    NoResult,
    PositionGone,
    ProcessStartFailed,
    ProgramFailed,
    ResultMismatch,
    RetentionBroken,
    Retry,
    SchemaMismatch,
    Snooze,
    StoreBusy,
    StoreError,
    StoreForbidden,
    StoreRefused,
    StoreRestored,
    StoreUnavailable,
    TenureError,
    UnknownDefinition,
)
from tenure.core.model.states import State
from tenure.execution.handler.context import Context
from tenure.surfaces.library.app import Tenure
from tenure.surfaces.library.definition import JobDefinition
from tenure.surfaces.library.handle import JobHandle
from tenure.surfaces.library.options import backoff
from tenure.version import __version__

if _typing.TYPE_CHECKING:
    from tenure.core.model.aside import JobsAside
    from tenure.core.model.signal_errors import JobEnded, NotInDoubt, SignalDiffers, TooManySignals
    from tenure.core.model.step_errors import (
        InDoubt,
        StepChanged,
        StepResultRefused,
        SuspensionSwallowed,
        TooManySteps,
    )
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
    "InDoubt",
    "InvalidInput",
    "InvalidJson",
    "InvalidParams",
    "JobBuried",
    "JobCancelled",
    "JobDefinition",
    "JobEnded",
    "JobFailed",
    "JobHandle",
    "JobIsAside",
    "JobNotFound",
    "JobNotWaiting",
    "JobUnfinished",
    "JobsAside",
    "LeaseLost",
    "NoResult",
    "NotAllowed",
    "NotFound",
    "NotInDoubt",
    "PositionGone",
    "ProcessStartFailed",
    "ProgramFailed",
    "Refused",
    "RemoteError",
    "RemoteEvent",
    "RemoteJob",
    "ResultMismatch",
    "RetentionBroken",
    "Retry",
    "SchemaMismatch",
    "SignalDiffers",
    "Snooze",
    "State",
    "StepChanged",
    "StepResultRefused",
    "StoreBusy",
    "StoreError",
    "StoreForbidden",
    "StoreRefused",
    "StoreRestored",
    "StoreUnavailable",
    "SuspensionSwallowed",
    "Tenure",
    "TenureError",
    "TooMany",
    "TooManySignals",
    "TooManySteps",
    "UnexpectedAnswer",
    "UnknownDefinition",
    "Unreachable",
    "Untrusted",
    "__version__",
    "backoff",
]

_IMPORTED_LATER = {
    "AsyncClient": "surfaces.remote.client",
    "Client": "surfaces.remote.client",
    "Conflict": "surfaces.remote.errors",
    "InDoubt": "core.model.step_errors",
    "JobEnded": "core.model.signal_errors",
    "JobsAside": "core.model.aside",
    "NotAllowed": "surfaces.remote.errors",
    "NotFound": "surfaces.remote.errors",
    "NotInDoubt": "core.model.signal_errors",
    "Refused": "surfaces.remote.errors",
    "RemoteError": "surfaces.remote.errors",
    "RemoteEvent": "surfaces.remote.values",
    "RemoteJob": "surfaces.remote.values",
    "SignalDiffers": "core.model.signal_errors",
    "StepChanged": "core.model.step_errors",
    "StepResultRefused": "core.model.step_errors",
    "SuspensionSwallowed": "core.model.step_errors",
    "TooMany": "surfaces.remote.errors",
    "TooManySignals": "core.model.signal_errors",
    "TooManySteps": "core.model.step_errors",
    "UnexpectedAnswer": "surfaces.remote.errors",
    "Unreachable": "surfaces.remote.errors",
    "Untrusted": "surfaces.remote.errors",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _IMPORTED_LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"tenure.{_IMPORTED_LATER[name]}"), name)
    globals()[name] = found
    return found
