"""Turns the type hint of a handler's params into a JSON Schema, and JSON text into an object of that type."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from tenure.core.errors import InvalidInput
from tenure.core.values.documents import Document, write

_REMEDY = "use a dataclass, a msgspec.Struct, a TypedDict or a dict"


class Params(NamedTuple):
    """The schema of a definition's params, and the function that decodes them for its handler."""

    schema: Document
    decode: Callable[[str], Any]


def params_of(hint: Any) -> Params:
    """The params of a type hint. Raises InvalidInput for a type that is not a JSON object."""
    try:
        schema = _closed(_unwrapped(msgspec.json.schema(hint)))
        decoder = msgspec.json.Decoder(hint)
    except TypeError as error:
        cause = str(error).splitlines()[-1]
        raise InvalidInput("params", f"have a type that JSON cannot be read into: {cause}", _REMEDY) from None
    if not _is_object(schema, schema.get("$defs", {})):
        raise InvalidInput("params", f"are {_name(hint)}, which is no JSON object", _REMEDY)
    return Params(write(schema), _reader(decoder))


NO_PARAMS = Params(
    write({"type": "object", "properties": {}, "additionalProperties": False}), lambda _text: None
)
"""For a handler that takes neither params nor a context."""


def _reader(decoder: "msgspec.json.Decoder[Any]") -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return decoder.decode(text)
        except msgspec.ValidationError:
            # JSON Schema, which has accepted them, takes 50.0 for an integer; msgspec takes only 50.
            respelled = json.dumps(json.loads(text, parse_float=_whole))
            return decoder.decode(respelled)

    return read


def _whole(spelling: str) -> float:
    value = float(spelling)
    return int(value) if value.is_integer() else value


def _unwrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its outermost reference resolved."""
    place = schema.get("$ref", "").removeprefix("#/$defs/")
    if not place:
        return schema
    others = {name: kind for name, kind in schema["$defs"].items() if name != place}
    whole = dict(schema["$defs"][place])
    if f'"#/$defs/{place}"' in json.dumps(schema["$defs"]):
        others[place] = schema["$defs"][place]  # a recursive type
    return {**whole, "$defs": others} if others else whole


def _closed(schema: Any) -> Any:
    """The schema, made to refuse names that the type does not have: a misspelt name must be an error."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) if name in _NESTED else part for name, part in schema.items()}
    for name in _BY_NAME & closed.keys():
        closed[name] = {key: _closed(part) for key, part in closed[name].items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed


_NESTED = frozenset({"items", "prefixItems", "anyOf", "oneOf", "allOf", "additionalProperties"})
_BY_NAME = frozenset({"properties", "$defs"})


def _is_object(schema: dict[str, Any], defs: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return _is_object(defs[schema["$ref"].removeprefix("#/$defs/")], defs)
    if "anyOf" in schema:
        return all(_is_object(branch, defs) for branch in schema["anyOf"])
    return bool(schema.get("type") == "object")


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)
