"""Values of the core as JSON and back, so that two processes can exchange them line by line.

A plain value stays as it is. Any other is an object with one key, the name of its type: `{"UUID": "…"}`,
`{"Lease": {"job": …, "fence": …}}`. Structs and enums are found by name, so a new one needs no entry here.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.core import errors
from tenure.core.errors import StoreError
from tenure.core.model import aside, claim_by_id, durable, job, lease, limit, outcome, policy, turn
from tenure.core.reports import operations, reading, retention
from tenure.core.schedule import schedule
from tenure.core.webhooks import delivery, webhook

_MICROSECOND = timedelta(microseconds=1)
_MODEL = (aside, claim_by_id, durable, job, lease, limit, outcome, policy, turn)
_MODULES = (*_MODEL, operations, reading, retention, schedule, delivery, webhook, errors)
_ERRORS = (errors.__name__, aside.__name__)
_KNOWN: dict[str, Callable[[Any], Any]] = {
    "UUID": UUID,
    "datetime": datetime.fromisoformat,
    "ScheduleName": lambda parts: schedule.ScheduleName(*parts),
    "timedelta": lambda count: count * _MICROSECOND,
    "frozenset": lambda members: frozenset(map(decode, members)),
    "dict": lambda pairs: {decode(key): decode(value) for key, value in pairs},
}


def encode(value: object) -> Any:
    """Encode a value for JSON."""
    match value:
        case Enum():
            return {type(value).__name__: value.value}
        case None | bool() | int() | float() | str():
            return value
        case UUID():
            return {"UUID": str(value)}
        case datetime():
            return {"datetime": value.isoformat()}
        case timedelta():
            return {"timedelta": value // _MICROSECOND}
        case frozenset() | set():
            return {"frozenset": [encode(member) for member in value]}
        case schedule.ScheduleName():
            return {"ScheduleName": list(value)}
        case list() | tuple():
            return [encode(member) for member in value]
        case Mapping():
            return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
        case Struct():
            fields = {name: encode(getattr(value, name)) for name in value.__struct_fields__}
            return {type(value).__name__: fields}
        case StoreError():
            return {_public_name(value): str(value)}
    raise TypeError(f"cannot encode {value!r}")


def decode(encoded: Any) -> Any:
    """Decode a value; a sequence becomes a tuple."""
    if isinstance(encoded, list):
        return tuple(map(decode, encoded))
    if not isinstance(encoded, dict):
        return encoded
    [(name, body)] = encoded.items()
    if name in _KNOWN:
        return _KNOWN[name](body)
    kind = _kind_named(name)
    return kind(**{field: decode(item) for field, item in body.items()}) if _is_struct(kind) else kind(body)


def _kind_named(name: str) -> Any:
    for module in _MODULES:
        if hasattr(module, name):
            return getattr(module, name)
    raise TypeError(f"nothing is called {name}")


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _public_name(error: StoreError) -> str:
    """The public class of an error: a store may raise a subclass of its own."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ in _ERRORS)
