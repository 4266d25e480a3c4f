"""Reads JSON text as a value of a type hint: by msgspec, or by pydantic if a part of it is pydantic's."""

import json
import typing
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from tenure.core.values.misfits import Misfit, refuse_naive

Read = Callable[[str], Any]
"""Makes a value from JSON text. Raises Misfit."""

UNREADABLE = (TypeError, NameError, AttributeError)
"""What a type hint raises that nothing can read JSON into; the last two if it names what is not there."""


class Shape(NamedTuple):
    """A type hint, and what msgspec knows of it."""

    hint: Any
    info: inspect.Type | None
    """None if a part of it is pydantic's."""
    has_times: bool

    @classmethod
    def of(cls, hint: Any) -> "Shape":
        """Look at a type hint, once. Raises one of UNREADABLE."""
        try:
            info = inspect.type_info(hint)
            parts = list(_parts(info))
        except TypeError:
            if _is_any_of_pydantic(_arguments(hint)):  # such as a union that pydantic can read
                return cls(hint, None, False)
            raise
        if _is_any_of_pydantic(part.cls for part in parts if hasattr(part, "cls")):
            return cls(hint, None, False)
        return cls(hint, info, any(isinstance(part, inspect.DateTimeType) for part in parts))


def reader_of(shape: Shape) -> Read:
    """The function that reads values of a type. Raises one of UNREADABLE."""
    if shape.info is None:
        from tenure.surfaces.library.pydantic_types import adapter_reader

        return adapter_reader(shape.hint)
    read = _msgspec_reader(msgspec.json.Decoder(shape.hint))
    return _with_aware_times(read) if shape.has_times else read


def _is_any_of_pydantic(parts: Iterable[Any]) -> bool:
    return any(hasattr(part, "__pydantic_core_schema__") for part in parts)


def _parts(info: inspect.Type) -> Iterator[inspect.Type]:
    """A type and everything that it is made of, each class once."""
    found: set[Any] = set()
    left = [info]
    while left:
        part = left.pop()
        yield part
        if (cls := getattr(part, "cls", None)) is not None and cls in found:
            continue
        found.add(cls)
        left += [field.type for field in getattr(part, "fields", ())]
        left += [*getattr(part, "item_types", ()), *getattr(part, "types", ())]
        left += [getattr(part, name) for name in _NESTED if hasattr(part, name)]


_NESTED = ("type", "item_type", "key_type", "value_type")


def cause_of(error: Exception) -> str:
    """Why a type cannot be read, in a line."""
    return str(error).strip().splitlines()[-1]


def _arguments(hint: Any) -> Iterator[Any]:
    yield hint
    for argument in typing.get_args(hint):
        yield from _arguments(argument)


def _msgspec_reader(decoder: "msgspec.json.Decoder[Any]") -> Read:
    def read(text: str) -> Any:
        try:
            return decoder.decode(text)
        except msgspec.ValidationError:
            # JSON Schema, which has accepted them, takes 50.0 for an integer; msgspec takes only 50.
            respelled = json.dumps(json.loads(text, parse_float=_whole))
        try:
            return decoder.decode(respelled)
        except msgspec.ValidationError as error:
            raise Misfit.of(error) from None

    return read


def _with_aware_times(read: Read) -> Read:
    """The same, which refuses a datetime without a time zone: SQL and other workers may write one."""

    def checked(text: str) -> Any:
        value = read(text)
        refuse_naive(msgspec.to_builtins(value, builtin_types=(datetime,), str_keys=True))
        return value

    return checked


def _whole(spelling: str) -> float:
    value = float(spelling)
    return int(value) if value.is_integer() else value
