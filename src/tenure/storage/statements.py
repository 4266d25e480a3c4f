"""Statements live in SQL files named after their verb; this loads them.

A file holds one statement (`cancel`), or several under lines such as `-- part: find` (`enqueue.find`). Values
are written `:name`. SQLite takes that form as it is; for PostgreSQL it becomes `$1, $2 …` by `numbered`.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

_PART = re.compile(r"^-- part: (\w+)$", re.MULTILINE)
_VALUE = re.compile(r"(?<![:\w]):([a-z_]+)")


class Numbered(NamedTuple):
    """A statement in PostgreSQL's own form, and the names of its values in order."""

    text: str
    names: tuple[str, ...]


@cache
def load(package: str) -> Mapping[str, str]:
    """Every statement in a package's `sql` folder, by name, without its comments; read once a process."""
    statements: dict[str, str] = {}
    for file in files(package).joinpath("sql").iterdir():
        if file.name.endswith(".sql"):
            statements.update(_parts(file.name.removesuffix(".sql"), file.read_text("utf-8")))
    return MappingProxyType(statements)


def numbered(text: str) -> Numbered:
    """The statement with `$n` for each distinct `:name`, counted by first appearance."""
    names = tuple(dict.fromkeys(_VALUE.findall(text)))
    place = {name: f"${number}" for number, name in enumerate(names, 1)}
    return Numbered(_VALUE.sub(lambda value: place[value[1]], text), names)


def _parts(verb: str, text: str) -> dict[str, str]:
    lead, *rest = _PART.split(text)
    if not rest:
        return {verb: _bare(lead)}
    return {f"{verb}.{name}": _bare(body) for name, body in zip(rest[::2], rest[1::2], strict=True)}


def _bare(text: str) -> str:
    lines = (re.sub(r"\s*-- .*$", "", line) for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip()).strip().removesuffix(";")
