"""Bounds of a schema that comes from outside: the validator refuses an invalid one, this module a costly one.

Nothing is fetched for a schema, and its patterns match in linear time; see `params`. What remains is work:
with references that double at each step, validation by one small schema could take hours.
"""

import json
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import unquote

from tenure.core.errors import InvalidJson
from tenure.core.values.documents import Document
from tenure.core.values.pointers import pointer_to
from tenure.engine.client.params import InvalidSchema, ParamsCheck

LARGEST_SCHEMA = 65_536
"""Bytes that a schema may have."""

MOST_SUBSCHEMAS = 50_000
"""How many parts a schema may have when every reference is written out."""

LONGEST_CHAIN = 64
"""How many references may follow one another."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_DATA = frozenset({"const", "enum", "default", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_Path = tuple[str | int, ...]


def check_schema(schema: Document) -> None:
    """Raise InvalidJson, with a pointer into the schema, unless it can validate params."""
    if len(schema.encode()) > LARGEST_SCHEMA:
        raise _refused((), "is too large", f"give at most {LARGEST_SCHEMA:,} bytes")
    value = json.loads(schema)
    if not isinstance(value, dict):
        raise _refused((), "is no object")
    if value.get("$schema", DIALECT) not in (DIALECT, f"{DIALECT}#"):
        raise _refused(("$schema",), "is another dialect", f"give {DIALECT}, or leave it out")
    _Schema(value).check()
    try:
        ParamsCheck(schema)
    except InvalidSchema as error:
        raise InvalidJson("validation", error.pointer, error.problem) from None


class _Schema:
    """A schema, and how large it is with every reference written out."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._anchors = {f"#{name}": node for _, node in _schemas(root) for name in _texts(node, _ANCHORS)}
        self._sizes: dict[str, int] = {}
        self._open: list[str] = []

    def check(self) -> None:
        """Raise InvalidJson if it refers to another document, or is too large."""
        for path, node in _schemas(self._root):
            if path and "$id" in node:
                raise _refused((*path, "$id"), "makes a document inside the document", "leave it out")
            for reference in _texts(node, _REFERENCES):
                if not reference.startswith("#"):
                    remedy = "write it here, under $defs, and refer to that"
                    raise _refused(path, "refers to another document, and none is fetched", remedy)
        if self._size(self._root) > MOST_SUBSCHEMAS:
            raise _refused((), f"has more than {MOST_SUBSCHEMAS:,} parts, references written out")

    def _size(self, root: Any) -> int:
        return sum(
            1 + sum(self._size_of(reference) for reference in _texts(node, _REFERENCES))
            for _, node in _schemas(root)
        )

    def _size_of(self, reference: str) -> int:
        """What a reference adds; one that leads back to an open reference counts as one part."""
        if reference in self._open:
            return 1
        if reference not in self._sizes:
            if len(self._open) == LONGEST_CHAIN:
                raise _refused((), f"has more than {LONGEST_CHAIN} references in a row")
            self._open.append(reference)
            self._sizes[reference] = self._size(self._target(reference))
            self._open.pop()
        return self._sizes[reference]

    def _target(self, reference: str) -> Any:
        """Where a reference leads; None if nowhere, which the validator reports."""
        if not reference.startswith("#/"):
            return self._root if reference == "#" else self._anchors.get(reference)
        value: Any = self._root
        for step in reference[2:].split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(value, list):
                value = dict(zip(map(str, range(len(value))), value, strict=True)).get(name)
            else:
                value = value.get(name) if isinstance(value, dict) else None
        return value


def _schemas(value: Any, path: _Path = (), *, names: bool = False) -> Iterator[tuple[_Path, dict[str, Any]]]:
    """Every schema inside one, with its path. Plain data is skipped.

    `names`: the keys of this object are chosen names, not words of JSON Schema.
    """
    parts: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        if not names:
            yield path, value
        parts = [(key, part) for key, part in value.items() if names or key not in _DATA]
    elif isinstance(value, list):
        parts = list(enumerate(value))
    for key, part in parts:
        yield from _schemas(part, (*path, key), names=not names and key in _NAMED)


def _texts(node: dict[str, Any], keys: Collection[str]) -> list[str]:
    return [node[key] for key in keys if isinstance(node.get(key), str)]


def _refused(path: _Path, problem: str, remedy: str = "") -> InvalidJson:
    return InvalidJson("validation", pointer_to(path), problem, remedy)
