"""From the type hint of a handler's params to a JSON Schema, and from JSON text to an object of that type."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from tenure.core.documents import Document, write
from tenure.core.errors import InvalidInput

_REMEDY = "use a dataclass, a msgspec.Struct, a TypedDict or a dict"


class Params(NamedTuple):
    """How a definition's params look, and how its handler gets them."""

    schema: Document
    decode: Callable[[str], Any]


def params_of(hint: Any) -> Params:
    """The params that a type hint asks for. Raises InvalidInput for a type that is no JSON object."""
    try:
        schema = _closed(_unwrapped(msgspec.json.schema(hint)))
        decoder = msgspec.json.Decoder(hint)
    except TypeError as error:
        said = str(error).splitlines()[-1]
        raise InvalidInput("params", f"have a type that JSON cannot be read into: {said}", _REMEDY) from None
    if not _is_object(schema, schema.get("$defs", {})):
        raise InvalidInput("params", f"are {_name(hint)}, which is no JSON object", _REMEDY)
    return Params(write(schema), _reader(decoder))


NO_PARAMS = Params(
    write({"type": "object", "properties": {}, "additionalProperties": False}), lambda _text: None
)
"""For a handler that takes none and cannot see any."""


def _reader(decoder: "msgspec.json.Decoder[Any]") -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return decoder.decode(text)
        except msgspec.ValidationError:
            # To JSON Schema, by which they were judged, 50.0 is an integer; msgspec wants it spelled 50.
            respelled = json.dumps(json.loads(text, parse_float=_whole))
            return decoder.decode(respelled)

    return read


def _whole(spelling: str) -> float:
    value = float(spelling)
    return int(value) if value.is_integer() else value


def _unwrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with what its first reference leads to in its place."""
    place = schema.get("$ref", "").removeprefix("#/$defs/")
    if not place:
        return schema
    others = {name: kind for name, kind in schema["$defs"].items() if name != place}
    whole = dict(schema["$defs"][place])
    if f'"#/$defs/{place}"' in json.dumps(schema["$defs"]):
        others[place] = schema["$defs"][place]  # a type that holds itself
    return {**whole, "$defs": others} if others else whole


def _closed(schema: Any) -> Any:
    """The schema, taking no names that a type does not have: a typing error must not pass for an option."""
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
