"""Checks that the params of a definition can have a value at its concurrency key.

With a name that no params have, all jobs would silently count as one. Only certain mistakes are refused:
words of JSON Schema that this module does not know are taken to allow everything.
"""

import json
from typing import Any

from tenure.core.errors import InvalidInput
from tenure.core.model.limit import steps_of
from tenure.core.model.spec import Spec

_MOST_NAMED = 10
_LONGEST_NAME = 64
_ANY_KIND = ("object", "array")


def check_concurrency_key(spec: Spec) -> None:
    """Raise InvalidInput if no params of a definition can have a value at its concurrency key."""
    place = spec.concurrency_key
    if place is None:
        return
    schema = json.loads(spec.params_schema)
    try:
        if _Shape(schema).may_have(schema, steps_of(place)):
            return
    except RecursionError:  # too deep to decide
        return
    problem = f"{place!r:.{_LONGEST_NAME}} is no param of {spec.key}@{spec.version}"
    raise InvalidInput("concurrency_key", problem, _remedy(schema))


class _Shape:
    """A schema, and a cache of answers about its parts: one for each part and step."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._found: dict[tuple[int, int], bool] = {}

    def may_have(self, node: Any, steps: list[str]) -> bool:
        """Whether a value that fits this part may have a value where the steps lead."""
        if not isinstance(node, dict):
            return node is not False
        place = id(node), len(steps)
        if place not in self._found:
            self._found[place] = True  # for a reference that leads back here: it requires nothing more
            self._found[place] = self._find(node, steps)
        return self._found[place]

    def _find(self, node: dict[str, Any], steps: list[str]) -> bool:
        every = [*_parts(node, "allOf")]
        if isinstance(node.get("$ref"), str):
            every.append(self._target(node["$ref"]))
        if not all(self.may_have(part, steps) for part in every):
            return False
        for word in ("anyOf", "oneOf"):
            some = _parts(node, word)
            if some and not any(self.may_have(part, steps) for part in some):
                return False
        return not steps or self._has_step(node, steps[0], steps[1:])

    def _has_step(self, node: dict[str, Any], step: str, rest: list[str]) -> bool:
        kinds = node.get("type", _ANY_KIND)
        if "object" in kinds and self.may_have(_member(node, step), rest):
            return True
        return "array" in kinds and step.isdecimal() and self.may_have(_item(node, int(step)), rest)

    def _target(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return True
        value = self._root
        for step in steps_of(reference[1:]) if len(reference) > 1 else []:
            value = value.get(step, True) if isinstance(value, dict) else True
        return value


def _parts(node: dict[str, Any], word: str) -> list[Any]:
    parts = node.get(word)
    return parts if isinstance(parts, list) else []


def _member(node: dict[str, Any], name: str) -> Any:
    properties = node.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return True if "patternProperties" in node else node.get("additionalProperties", True)


def _item(node: dict[str, Any], index: int) -> Any:
    first = _parts(node, "prefixItems")
    return first[index] if index < len(first) else node.get("items", True)


def _remedy(schema: Any) -> str:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not properties:
        return "leave it out, or let the jobs have params"
    names = [name[:_LONGEST_NAME] for name in properties][:_MOST_NAMED]
    return f"give one of {', '.join(names)}, or a JSON pointer to a part of one"
