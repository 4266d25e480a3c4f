"""Limits on how many jobs may run at once, and their current use."""

import json
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from tenure.core.errors import InvalidParams, ParamsProblem
from tenure.core.values.bounds import LARGEST_LIMIT, distinct, named, printable, whole
from tenure.core.values.documents import Document

SCHEDULE_LIMIT = "system.schedule"
"""The limit that lets jobs of a schedule run one at a time, if its overlap says so; the key is its name."""

_SEPARATOR = "\x1f"  # not printable, so no name and no key contains it


class Limit(Struct, frozen=True, order=True):
    """At most `size` jobs at once, separately for each key.

    The size belongs to the name: the first job with that name sets it, `set_limit` changes it for all keys.
    """

    name: str
    key: str = ""
    size: int = 1

    def __post_init__(self) -> None:
        named("limit", self.name)
        whole("limit.size", self.size, 1, LARGEST_LIMIT)

    def in_namespace(self, namespace: str) -> "Limit":
        """The limit with its key bound to this namespace: jobs of other namespaces do not count under it.

        Without a key it stays as it is: a bound on a machine or a service holds for all namespaces.
        """
        return Limit(self.name, f"{namespace}{_SEPARATOR}{self.key}", self.size) if self.key else self

    def without_namespace(self) -> "Limit":
        """The limit with its key as the caller named it."""
        return Limit(self.name, self.key.rpartition(_SEPARATOR)[2], self.size)


class LimitUse(Struct, frozen=True):
    """A limit and how many jobs run under it now."""

    name: str
    key: str
    size: int
    held: int
    opens_at: datetime | None = None
    """Until when no job starts under it, if it is closed."""

    @property
    def namespace(self) -> str | None:
        """The namespace that the key is bound to, if it is."""
        return self.key.rpartition(_SEPARATOR)[0] or None

    @property
    def plain_key(self) -> str:
        """The key as the caller named it."""
        return self.key.rpartition(_SEPARATOR)[2]


class LimitPage(Struct, frozen=True):
    """A part of all limits and keys, by name and key; `next` is where to go on, None at the end.

    A place is a limit's name and the number of a key: keys are too long for cursors.
    """

    uses: Sequence[LimitUse]
    next: tuple[str, int] | None


def checked_keys(keys: Sequence[str], most: int) -> Sequence[str]:
    """Check the keys under which a caller wants a job to count."""
    distinct("concurrency_keys", keys, most)
    for key in keys:
        printable("concurrency_keys", key, least=1)
    return keys


def steps_of(place: str) -> list[str]:
    """The path to a place in the params: a field's name, or the parts of a JSON pointer."""
    if not place.startswith("/"):
        return [place]
    return [step.replace("~1", "/").replace("~0", "~") for step in place.removeprefix("/").split("/")]


def key_in(definition: str, params: Document, place: str) -> str:
    """The text at a field's name or JSON pointer in the params; empty if nothing is there.

    Raises InvalidParams if the value there cannot be a key.
    """
    value = json.loads(params)
    for name in steps_of(place):
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            value = value.get(name) if isinstance(value, dict) else None
    match value:
        case None:
            return ""
        case str() if len(value) <= 255 and value.isprintable():
            return value
        case bool() | int() | float():
            return json.dumps(value)
        case _:
            text = "jobs are counted by it: give a number, or a text of up to 255 printable characters"
            pointer = place if place.startswith("/") else "/" + place.replace("~", "~0").replace("/", "~1")
            raise InvalidParams(definition, [ParamsProblem(pointer, text)])
