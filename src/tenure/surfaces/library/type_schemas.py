"""The JSON Schema of a type hint, in which a name that the type does not have is refused.

A plain `datetime` is described as one with a time zone. msgspec does so only for a field that declares it;
so its schema is walked beside what it knows of the type.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from tenure.surfaces.library.type_readers import Shape

Schema = dict[str, Any]


def schema_of(shape: Shape) -> Schema:
    """The schema of a type. Raises TypeError, NameError or AttributeError if it has none."""
    if shape.info is None:
        from tenure.surfaces.library.pydantic_types import adapter_schema

        schema = adapter_schema(shape.hint)
    else:
        schema = msgspec.json.schema(shape.hint)
        if shape.has_times:
            _Zones(schema).mark(shape.info, schema)
    closed: Schema = _closed(_unwrapped(schema))
    return closed


def is_object(schema: Schema, defs: Schema) -> bool:
    """Whether all values that fit a schema are JSON objects."""
    if "$ref" in schema:
        return is_object(defs[schema["$ref"].removeprefix(_DEFS)], defs)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return all(is_object(branch, defs) for branch in branches)
    return bool(schema.get("type") == "object")


_DEFS = "#/$defs/"
_ARRAYS = (inspect.CollectionType, inspect.TupleType, inspect.NamedTupleType)


class _Zones:
    """Marks each plain datetime in a schema of msgspec's as one with a time zone."""

    def __init__(self, root: Schema) -> None:
        self._defs = root.get("$defs", {})
        self._marked: set[int] = set()

    def mark(self, info: inspect.Type, schema: Schema) -> None:
        """Mark a part of the schema, which describes this type."""
        while isinstance(info, inspect.Metadata):
            info = info.type
        schema = self._target(schema)
        if isinstance(info, inspect.DateTimeType):
            if info.tz is False:
                raise TypeError("a datetime without a time zone: declare it as a str, or leave out tz=False")
            schema["format"] = "date-time"
        elif id(schema) not in self._marked:
            self._marked.add(id(schema))
            for part, described in self._parts(info, schema):
                if isinstance(described, dict):
                    self.mark(part, described)

    def _parts(self, info: Any, schema: Schema) -> Iterator[tuple[inspect.Type, Any]]:
        places = schema.get("prefixItems", ())
        if isinstance(info, inspect.UnionType):
            for branch in _branches(schema):
                yield from ((kind, branch) for kind in info.types if self._describes(branch, kind))
        elif properties := schema.get("properties"):
            yield from ((field.type, properties[field.encode_name]) for field in info.fields)
        elif fields := getattr(info, "fields", ()):
            yield from ((field.type, place) for field, place in zip(fields, places, strict=False))
        elif isinstance(info, inspect.TupleType):
            yield from zip(info.item_types, places, strict=False)
        elif isinstance(info, inspect.CollectionType):
            yield info.item_type, schema.get("items")
        elif isinstance(info, inspect.DictType):
            yield info.value_type, schema.get("additionalProperties")

    def _describes(self, branch: Schema, info: Any) -> bool:
        """Whether a branch is that of this type: JSON tells apart the types of each union that may be."""
        while isinstance(info, inspect.Metadata):
            info = info.type
        schema = self._target(branch)
        properties = schema.get("properties")
        if isinstance(info, inspect.DateTimeType):
            return schema.get("type") == "string"
        if isinstance(info, inspect.StructType) and info.tag_field is not None and properties:
            return bool(properties.get(info.tag_field) == {"enum": [info.tag]})
        if isinstance(info, inspect.DictType):
            return schema.get("type") == "object" and not properties
        if isinstance(info, _ARRAYS):
            return schema.get("type") == "array"
        return bool(getattr(info, "fields", ())) and "$ref" in branch

    def _target(self, schema: Schema) -> Schema:
        place = schema.get("$ref", "").removeprefix(_DEFS)
        return self._defs[place] if place else schema


def _branches(schema: Schema) -> Iterator[Schema]:
    for branch in schema.get("anyOf", ()):
        yield from _branches(branch) if "anyOf" in branch else [branch]


def _unwrapped(schema: Schema) -> Schema:
    """The schema with its outermost reference resolved."""
    place = schema.get("$ref", "").removeprefix(_DEFS)
    if not place:
        return schema
    others = {name: kind for name, kind in schema["$defs"].items() if name != place}
    whole = dict(schema["$defs"][place])
    if f'"{_DEFS}{place}"' in json.dumps(schema["$defs"]):
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
