"""Values of the core as JSON and back, so that two processes can speak of them line by line.

A plain value stands for itself. Any other is an object with one name, that of its type: `{"UUID": "…"}`,
`{"Lease": {"job": …, "fence": …}}`. Structs and enums are found by name, so a new one needs no word here.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from msgspec import Struct

from tenure.core import aside, errors, job, lease, limit, operations, outcome, policy, reading
from tenure.core import round as turn
from tenure.core.errors import StoreError

_MICROSECOND = timedelta(microseconds=1)
_KNOWN: dict[str, Callable[[Any], Any]] = {
    "UUID": UUID,
    "datetime": datetime.fromisoformat,
    "timedelta": lambda count: count * _MICROSECOND,
    "frozenset": lambda members: frozenset(map(heard, members)),
    "dict": lambda pairs: {heard(key): heard(value) for key, value in pairs},
}


def spoken(value: object) -> Any:
    """A value in the form that JSON can carry."""
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
            return {"frozenset": [spoken(member) for member in value]}
        case list() | tuple():
            return [spoken(member) for member in value]
        case Mapping():
            return {"dict": [[spoken(key), spoken(item)] for key, item in value.items()]}
        case Struct():
            fields = {name: spoken(getattr(value, name)) for name in value.__struct_fields__}
            return {type(value).__name__: fields}
        case StoreError():
            return {_public_name(value): str(value)}
    raise TypeError(f"no words for {value!r}")


def heard(said: Any) -> Any:
    """The value that was spoken; a sequence has become a tuple."""
    if isinstance(said, list):
        return tuple(map(heard, said))
    if not isinstance(said, dict):
        return said
    [(name, body)] = said.items()
    if name in _KNOWN:
        return _KNOWN[name](body)
    kind = _kind_named(name)
    return kind(**{field: heard(item) for field, item in body.items()}) if _is_struct(kind) else kind(body)


def _kind_named(name: str) -> Any:
    for module in (aside, job, lease, limit, operations, outcome, policy, reading, turn, errors):
        if hasattr(module, name):
            return getattr(module, name)
    raise TypeError(f"nothing is called {name}")


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _public_name(error: StoreError) -> str:
    """A store may raise a kind of its own; what it says to others is the kind that everybody knows."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
