"""Walks through nested containers, to find values that JSON would keep without part of their meaning."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

AN_AWARE_ONE = "give it a time zone, as datetime.now(timezone.utc) has one"
"""The way out for a datetime that has none."""

Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in a value that is no container, with the path to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def is_naive(value: Any) -> bool:
    """Whether it is a datetime without a time zone, which means another moment on each machine."""
    return isinstance(value, datetime) and value.utcoffset() is None
