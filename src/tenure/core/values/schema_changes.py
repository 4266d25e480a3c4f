"""What differs between two schemas of params, in a programmer's words: which field, from what to what."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tenure.core.values.documents import Document

MOST = 8
"""How many differences are told."""

_DEEPEST = 5
_NAMES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_LONGEST_WORD = 60
_NAMING = frozenset({"title", "description"})


class SchemaChange(NamedTuple):
    """One difference; `breaks` if params that fitted the first schema may not fit the second one."""

    text: str
    breaks: bool


def schema_changes(before: Document, after: Document) -> list[SchemaChange]:
    """Every difference between two schemas; empty where they are the same."""
    old, new = json.loads(before), json.loads(after)
    if old == new:
        return []
    pair = _Pair(old.get("$defs", {}), new.get("$defs", {}))
    found = list(pair.changes(old, new, "", 0))
    if not found:  # what lies behind an alternative, such as `Address | None`
        for name in sorted(pair.old_defs.keys() & pair.new_defs.keys()):
            found += pair.changes(pair.old_defs[name], pair.new_defs[name], f"{name}.", 1)
    if not found and _unnamed(old) == _unnamed(new):
        return [SchemaChange("types have other names or descriptions", breaks=False)]
    return found or [SchemaChange("their schema is another one", breaks=True)]


class _Pair(NamedTuple):
    """The named parts of both schemas."""

    old_defs: Mapping[str, Any]
    new_defs: Mapping[str, Any]

    def changes(self, old: Any, new: Any, path: str, depth: int) -> Iterator[SchemaChange]:
        old, new = _resolved(old, self.old_defs), _resolved(new, self.new_defs)
        before, after = old.get("properties"), new.get("properties")
        if before is None or after is None or depth >= _DEEPEST:
            yield from self._of_type(old, new, path)
            return
        for name in sorted(after.keys() - before.keys()):
            is_required = name in new.get("required", ())
            yield SchemaChange(
                f"{path}{name} is new and {'required' if is_required else 'has a default'}", is_required
            )
        for name in sorted(before.keys() - after.keys()):
            yield SchemaChange(f"{path}{name} is gone", breaks=True)
        for name in sorted(before.keys() & after.keys()):
            inner = list(self.changes(before[name], after[name], f"{path}{name}.", depth + 1))
            yield from inner
            was, is_now = (name in schema.get("required", ()) for schema in (old, new))
            if was != is_now:
                words = "is now required" if is_now else "has a default now"
                yield SchemaChange(f"{path}{name} {words}", is_now)
            elif not inner and _default(before[name]) != _default(after[name]):
                yield SchemaChange(f"{path}{name} has another default", breaks=False)

    def _of_type(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[SchemaChange]:
        name = path.rstrip(".") or "the whole"
        was, is_now = _words(old, self.old_defs), _words(new, self.new_defs)
        if was != is_now:
            kept = was <= is_now or (was == {"int"} and "float" in is_now)
            yield SchemaChange(f"{name} was {_joined(was)} and is {_joined(is_now)}", not kept)
        elif _bare(old) != _bare(new):
            yield SchemaChange(f"{name} has other bounds", breaks=True)


def _resolved(schema: Any, defs: Mapping[str, Any]) -> dict[str, Any]:
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            return {}
        if "$ref" not in schema:
            return schema
        schema = defs.get(str(schema["$ref"]).removeprefix("#/$defs/"), {})
    return schema if isinstance(schema, dict) else {}


def _words(schema: dict[str, Any], defs: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """The types of a schema as Python spells them."""
    schema = _resolved(schema, defs)
    if depth >= _DEEPEST:
        return frozenset({"…"})
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return frozenset().union(*(_words(one, defs, depth + 1) for one in alternatives))
    if "enum" in schema:
        return frozenset({f"Literal{json.dumps(schema['enum'])}"[:_LONGEST_WORD]})
    if schema.get("type") == "array":
        return frozenset({f"list[{_joined(_words(schema.get('items', {}), defs, depth + 1))}]"})
    if schema.get("type") == "object":
        has_fields = "title" in schema and "properties" in schema
        return frozenset({str(schema["title"])[:_LONGEST_WORD] if has_fields else "dict"})
    kinds = schema.get("type", [])
    names = {_NAMES.get(kind, str(kind)) for kind in ([kinds] if isinstance(kinds, str) else kinds)}
    if "format" in schema:
        names = {f"{name} ({schema['format']})"[:_LONGEST_WORD] for name in names}
    return frozenset(names or {"Any"})


def _joined(words: frozenset[str]) -> str:
    return " | ".join(sorted(words, key=lambda word: (word == "None", word)))


def _default(schema: Any) -> Any:
    return schema.get("default") if isinstance(schema, dict) else None


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without what does not concern values."""
    return {key: value for key, value in schema.items() if key not in {*_NAMING, "default", "$defs"}}


def _unnamed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_unnamed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _unnamed(part) for key, part in schema.items() if not (key in _NAMING and isinstance(part, str))
    }
