"""Records that web frameworks can answer with."""

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec


class PlainFields:
    """A record that is iterated as its fields, with values as JSON has them, so that `dict(record)` is JSON.

    FastAPI asks in one of three ways, by what an endpoint says it returns: nothing, anything, or this type.
    """

    __slots__ = ()
    __struct_fields__: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[str, object]]:
        return ((name, msgspec.to_builtins(getattr(self, name))) for name in self.__struct_fields__)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> dict[str, Any]:
        # What pydantic's own functions make are such dicts; pydantic is no dependency.
        written = {"type": "function-plain", "function": dict, "return_schema": {"type": "dict"}}
        return {"type": "is-instance", "cls": cls, "serialization": written}

    @property
    def __pydantic_serializer__(self) -> Any:
        return _serializer()


@cache
def _serializer() -> Any:
    # Only pydantic asks, so it is loaded; the core imports no package but its own.
    return sys.modules["pydantic"].TypeAdapter(PlainFields).serializer
