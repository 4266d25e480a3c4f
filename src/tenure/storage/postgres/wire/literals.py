"""Arrays for PostgreSQL, written as literals.

The driver checks every element of an array twice for being a list itself, which costs more than writing the
element. Only strings it recognizes at once, so arrays of text are left to it. For arrays of bytes it would
query the server for their type on every new connection.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from tenure.storage.schema import statements

Writer = Callable[[Iterable[Any]], str]
_KINDS = "uuid|smallint|integer|bigint|boolean|bytea|interval|timestamptz"
_ARRAY = re.compile(rf"(?<![:\w]):([a-z_]+)::({_KINDS})\[\]")


def _array(write: Callable[[Any], str]) -> Writer:
    def literal(elements: Iterable[Any]) -> str:
        return f"{{{','.join(['NULL' if one is None else write(one) for one in elements])}}}"

    return literal


def _interval(length: timedelta) -> str:
    # In parts: not every server can read a large number of microseconds.
    return (
        f"{length.days} days {length.seconds} seconds {length.microseconds} microseconds" if length else "0"
    )


def _bytes(value: bytes) -> str:
    return rf"\\x{value.hex()}"  # the first backslash is the array's own escape


_WRITERS: Mapping[str, Writer] = {
    **dict.fromkeys(("smallint", "integer", "bigint", "boolean"), _array(str)),
    "uuid": _array(attrgetter("hex")),  # the server needs no dashes
    "bytea": _array(_bytes),
    "interval": _array(_interval),
    "timestamptz": _array(datetime.isoformat),
}


class Prepared(NamedTuple):
    """A statement with numbered parameters, their names in order, and which of them are sent as literals."""

    text: str
    names: tuple[str, ...]
    literals: Mapping[str, Writer]
    in_order: Callable[[Mapping[str, Any]], Sequence[Any]]

    def arguments(self, values: Mapping[str, Any]) -> Sequence[Any]:
        """The values, in the order of the parameters."""
        if not self.literals:
            return self.in_order(values)
        return [self._argument(name, values[name]) for name in self.names]

    def _argument(self, name: str, value: Any) -> Any:
        return self.literals[name](value) if name in self.literals and value is not None else value


@cache
def prepare(text: str) -> Prepared:
    """Prepare a statement; arrays of anything but text become literals."""
    kinds = dict(_ARRAY.findall(text))
    numbered = statements.numbered(_ARRAY.sub(r":\1::text::\2[]", text))
    writers = {name: _WRITERS[kind] for name, kind in kinds.items()}
    return Prepared(*numbered, writers, _in_order(numbered.names))


def _in_order(names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    if len(names) > 1:
        return itemgetter(*names)  # with a single name it would return no tuple
    return lambda values: [values[name] for name in names]
