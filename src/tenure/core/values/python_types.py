"""Python's richer types in JSON's own: what msgspec writes, and models of pydantic, which is not imported."""

import math
from dataclasses import fields
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from tenure.core.values.document_faults import DocumentFault
from tenure.core.values.leaves import Path, is_naive, leaves

_LOOKED_AT = (datetime,)
_SPECIAL = (datetime, bytes, bytearray, memoryview, set, frozenset)
_OF_PYDANTIC = "__pydantic_serializer__"


def json_types_of(value: object) -> Any:
    """One value in JSON's own types; a datetime that it holds is left as it is, for the caller to see."""
    if isinstance(value, _SPECIAL):
        return _written(value)
    try:
        for kind in type(value).__mro__:  # `hasattr` costs four times as much where there is none
            # Records of Tenure have a property of that name, for web frameworks.
            if _OF_PYDANTIC in kind.__dict__ and type(kind.__dict__[_OF_PYDANTIC]) is not property:
                return _dumped(value)
        return msgspec.to_builtins(value, builtin_types=_LOOKED_AT)
    except TypeError:
        if (members := _members(value)) is not None:  # one of which msgspec cannot write
            return members
        raise DocumentFault("not-json", detail=f"a value of type {type(value).__name__}") from None
    except RecursionError:
        raise DocumentFault("too-deep") from None


def _written(value: object) -> Any:
    if is_naive(value):
        raise DocumentFault("no-time-zone")
    if isinstance(value, datetime):
        return msgspec.to_builtins(value)
    raise DocumentFault("not-json", detail=f"a value of type {type(value).__name__}")


def _dumped(value: Any) -> Any:
    """A model or a dataclass of pydantic in JSON's own types, as its class reads it again."""
    serializer = getattr(type(value), _OF_PYDANTIC)
    dump = partial(serializer.to_python, value, by_alias=True, round_trip=True, warnings=False)
    try:
        dumped = dump(mode="json")
        # There NaN is null, a datetime a text, and a secret a row of asterisks.
        for path, leaf in leaves(dump(mode="python")):
            if is_naive(leaf):
                raise DocumentFault("no-time-zone", *reversed(path))
            if isinstance(leaf, float) and not math.isfinite(leaf):
                raise DocumentFault("number-range", *reversed(path))
            if hasattr(leaf, "get_secret_value") and _at(path, dumped) == str(leaf):
                detail = f"a {type(leaf).__name__}, of which pydantic writes asterisks"
                raise DocumentFault("not-json", *reversed(path), detail=detail)
        return dumped
    except ValueError as error:  # of pydantic: a type that it cannot write, or a circle
        detail = f"a value of type {type(value).__name__}: {str(error).partition('(')[0].strip()}"
        raise DocumentFault("not-json", detail=detail) from None


def _members(value: Any) -> dict[str, Any] | None:
    """The members of an object, by the names that they have in JSON; None if it has none that are known."""
    kind = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if isinstance(value, msgspec.Struct) and not kind.__struct_config__.array_like:
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {written: getattr(value, name) for written, name in names}
    return None


def _at(path: Path, value: Any) -> Any:
    for step in path:
        value = value[step]
    return value
