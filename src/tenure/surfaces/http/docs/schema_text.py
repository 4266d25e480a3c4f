"""JSON schemas in a few words, for people."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_FORMS = {"uuid": "id", "date-time": "time", "uri-reference": "address"}


class SchemaText:
    """Describes values; `schemas` are those that others refer to by name."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def about(self, schema: Schema) -> str:
        """What an object says of itself, on one line: what its fields mean together."""
        return " ".join(self.resolved(schema).get("description", "").split())

    def resolved(self, schema: Schema) -> Schema:
        """The schema that a reference names, or the one given."""
        return self._schemas[_name(schema)] if "$ref" in schema else schema

    def kind(self, schema: Schema) -> str:
        """What a value may be, such as `integer, 1 to 100` or `list of name`; an object by its name."""
        whole = self.resolved(schema)
        if "enum" in whole:
            return " | ".join(map(str, whole["enum"]))
        if "anyOf" in whole and "type" not in whole:
            return " or ".join(dict.fromkeys(map(self.kind, whole["anyOf"])))
        match whole.get("type"):
            case None:
                return "any JSON"
            case "null":
                return "null"
            case "array":
                return f"list of {_many(self.kind(whole.get('items', {})))}{_bounds(whole, 'Items')}"
            case "object":
                return _name(schema) if "$ref" in schema else self._object(whole)
            case "string":
                return _text(whole)
            case kind:
                return f"{kind}{_bounds(whole, 'imum')}"

    def _object(self, schema: Schema) -> str:
        values = schema.get("additionalProperties")
        return f"{self.kind(values)}, by name" if isinstance(values, dict) else "object"


def details(description: str) -> str:
    """What a call says behind its first sentence, which is its summary in other words; on one line."""
    return " ".join(description.partition("\n\n")[2].split())


def _many(kind: str) -> str:
    word, *rest = kind.split(",", 1)
    return f"{word}s" if word in {"name", "text", "id", "time"} and not rest else kind


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _text(schema: Schema) -> str:
    if form := _FORMS.get(schema.get("format", "")):
        return form
    is_name = str(schema.get("pattern", "")).startswith("^[A-Za-z0-9]")
    return "name" if is_name else f"text{_bounds(schema, 'Length')}"


def _bounds(schema: Schema, of: str) -> str:
    match schema.get(f"min{of}"), schema.get(f"max{of}"):
        case None, None:
            return ""
        case None, most:
            return f", at most {most:,}"
        case least, None:
            return f", at least {least:,}"
        case least, most:
            return f", {least:,} to {most:,}"
    raise AssertionError
