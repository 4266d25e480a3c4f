"""From the JSON Schema of a definition's params to the fields of a form.

Whole and decimal numbers, text, a choice, yes or no, times, and objects of these as groups have fields of
their own. What a schema says beyond that becomes a field for JSON, or the whole form does.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from tenure.core.values.documents import Document
from tenure.core.values.pointers import pointer_to

MOST_FIELDS = 60
"""A form with more of them is one field for JSON."""

MOST_CHOICES = 100
DEEPEST = 3
"""How deep groups stand in each other; below, a group is a field for JSON."""

_LONGEST_HINT = 80
_CHAIN = 16
"""How many references may follow one another."""

_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties", "$defs", "$schema", "$id"})
_PLAIN = frozenset({"type", "title", "description", "default", "examples", "deprecated", "readOnly"})


class FieldKind(StrEnum):
    """How a field is filled in."""

    WHOLE = "whole number"
    DECIMAL = "decimal"
    TEXT = "text"
    CHOICE = "one of"
    YES_NO = "yes or no"
    MOMENT = "time, UTC"
    JSON = "JSON"


class FormField(Struct, frozen=True, kw_only=True):
    """A field: where its value stands in the params, how it is filled in, and what is known of it.

    `choices` are the values that may be given, as JSON and as people read them. A field that is `nullable`
    and required becomes null if it is left blank. `default` is what the schema says of a missing value.
    """

    path: tuple[str, ...]
    kind: FieldKind
    is_required: bool
    is_nullable: bool = False
    choices: Sequence[tuple[str, str]] = ()
    default: str | None = None
    about: str = ""

    @property
    def name(self) -> str:
        """Its name in the form, a pointer into the params."""
        return pointer_to(self.path)

    @property
    def label(self) -> str:
        """What people call it."""
        return self.path[-1]

    @property
    def hint(self) -> str:
        """What may be given, and whether it must be."""
        kind = f"{self.kind} {len(self.choices)}" if self.kind is FieldKind.CHOICE else str(self.kind)
        if self.default is not None:
            return f"{kind}, default {self.default}"
        if self.is_required:
            return f"{kind}, required" if not self.is_nullable else f"{kind}, blank for null"
        return f"{kind}, may be left out"


class FieldGroup(Struct, frozen=True, kw_only=True):
    """The fields of an object inside the params."""

    path: tuple[str, ...]
    is_required: bool
    parts: "Sequence[FormField | FieldGroup]"

    @property
    def label(self) -> str:
        """What people call it."""
        return self.path[-1]

    @property
    def hint(self) -> str:
        """Whether it must be there."""
        return "required" if self.is_required else "may be left out as a whole"


Part = FormField | FieldGroup


def form_of(schema: Document) -> Sequence[Part] | None:
    """The fields for params of this schema; None where they are to be written as JSON."""
    root = json.loads(schema)
    parts = _SchemaReader(root).members(root, (), is_required=True)
    return parts if parts and len(list(flat(parts))) <= MOST_FIELDS else None


def flat(parts: Sequence[Part]) -> Iterator[FormField]:
    """Every field, also those in groups."""
    for part in parts:
        if isinstance(part, FieldGroup):
            yield from flat(part.parts)
        else:
            yield part


class _SchemaReader:
    """Reads one schema; references lead to its own definitions."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def members(self, node: Any, path: tuple[str, ...], *, is_required: bool) -> list[Part] | None:
        """The fields of an object; None if it is more than a list of named ones."""
        known = self._resolved(node)
        named = known.get("properties")
        if known.get("type") != "object" or not isinstance(named, dict) or not named:
            return None
        if (
            known.keys()
            - _PLAIN
            - {"properties", "required", "additionalProperties", "$defs", "$schema", "$id"}
        ):
            return None
        if isinstance(known.get("additionalProperties"), dict):
            return None
        required = known.get("required")
        wanted = set(required) if isinstance(required, list) else set()
        return [
            self._part(one, (*path, name), is_required=name in wanted and is_required)
            for name, one in named.items()
        ]

    def _part(self, node: Any, path: tuple[str, ...], *, is_required: bool) -> Part:
        known, is_nullable = self._without_null(self._resolved(node))
        if known.get("type") == "object" and len(path) < DEEPEST and not is_nullable:
            parts = self.members(known, path, is_required=True)
            if parts:
                return FieldGroup(path=path, is_required=is_required, parts=parts)
        kind, choices = _kind_of(known)
        return FormField(
            path=path,
            kind=kind,
            is_required=is_required,
            is_nullable=is_nullable,
            choices=choices,
            default=_default_of(node, known),
            about=_text(known, "description") or _text(node, "description"),
        )

    def _resolved(self, node: Any) -> dict[str, Any]:
        """The schema that a reference, or the only one of several, leads to."""
        for _ in range(_CHAIN):
            if not isinstance(node, dict):
                return {}
            if isinstance(reference := node.get("$ref"), str):
                node = _at(self._root, reference)
            elif (
                isinstance(only := node.get("allOf"), list)
                and len(only) == 1
                and not node.keys() - _PLAIN - {"allOf"}
            ):
                node = only[0]
            else:
                return node
        return {}

    def _without_null(self, node: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The schema for what is not null, and whether null is allowed too."""
        kind = node.get("type")
        if isinstance(kind, list) and "null" in kind:
            rest = [one for one in kind if one != "null"]
            return ({**node, "type": rest[0]} if len(rest) == 1 else {}), True
        branches = node.get("anyOf", node.get("oneOf"))
        if isinstance(branches, list) and not node.keys() - _PLAIN - {"anyOf", "oneOf"}:
            rest = [one for one in map(self._resolved, branches) if one.get("type") != "null"]
            if len(rest) == 1 and len(rest) < len(branches):
                return rest[0], True
        return node, False


def _is_plain(node: dict[str, Any], word: str) -> bool:
    """Whether it says nothing but this, and what is only told."""
    return word in node and not node.keys() - _PLAIN - {word}


def _kind_of(known: Mapping[str, Any]) -> tuple[FieldKind, Sequence[tuple[str, str]]]:
    values = [known["const"]] if "const" in known else known.get("enum")
    if isinstance(values, list) and 0 < len(values) <= MOST_CHOICES:
        return FieldKind.CHOICE, [(json.dumps(one), _said(one)) for one in values]
    match known.get("type"), known.get("format"):
        case "integer", _:
            return FieldKind.WHOLE, ()
        case "number", _:
            return FieldKind.DECIMAL, ()
        case "boolean", _:
            return FieldKind.YES_NO, (("true", "yes"), ("false", "no"))
        case "string", "date-time":
            return FieldKind.MOMENT, ()
        case "string", _:
            return FieldKind.TEXT, ()
        case _:
            return FieldKind.JSON, ()


def _default_of(node: Any, known: Mapping[str, Any]) -> str | None:
    for one in (node, known):
        if isinstance(one, dict) and one.get("default") is not None:
            value = one["default"]
            said = {True: "yes", False: "no"}[value] if isinstance(value, bool) else _said(value)
            return said[:_LONGEST_HINT] or "blank"
    return None


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(node: Any, name: str) -> str:
    value = node.get(name) if isinstance(node, dict) else None
    return value[:500] if isinstance(value, str) else ""


def _at(root: Any, reference: str) -> Any:
    """Where a reference into the same document leads; None if nowhere."""
    if not reference.startswith("#/"):
        return root if reference == "#" else None
    value = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value
