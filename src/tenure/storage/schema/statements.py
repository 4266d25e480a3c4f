"""Loads statements from SQL files, which are named after their verb.

A file holds one statement (`cancel`), or several under lines such as `-- part: find` (`enqueue.find`). Lines
between `-- only: limits` and `-- only: end` belong only to a longer form of their statement (`turn+limits`);
several forms may be named.
Values are written `:name`. SQLite takes them as they are; `numbered` makes them `$1, $2 …` for PostgreSQL.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

_PART = re.compile(r"^-- part: (\w+)$", re.MULTILINE)
_ONLY = re.compile(r"^-- only: (?!end$)(\w+(?:, \w+)*)\n(.*?)^-- only: end\n", re.MULTILINE | re.DOTALL)
_VALUE = re.compile(r"(?<![:\w]):([a-z_]+)")


class Numbered(NamedTuple):
    """A statement in PostgreSQL's own form, and the names of its values in order."""

    text: str
    names: tuple[str, ...]


@cache
def load(package: str) -> Mapping[str, str]:
    """Every statement in a package's `sql` folder, by name, without its comments; read once per process."""
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
    named = {f"{verb}.{name}": body for name, body in zip(rest[::2], rest[1::2], strict=True)} or {verb: lead}
    return {form: _bare(body) for name, text in named.items() for form, body in _forms(name, text).items()}


def _forms(name: str, text: str) -> dict[str, str]:
    """The short form of a statement, and its longer forms."""
    kinds = {kind for named, _ in _ONLY.findall(text) for kind in named.split(", ")}
    longer = {f"{name}+{kind}": _ONLY.sub(_kept(kind), text) for kind in sorted(kinds)}
    return {name: _ONLY.sub("", text), **longer}


def _kept(kind: str) -> Callable[[re.Match[str]], str]:
    return lambda found: found[2] if kind in found[1].split(", ") else ""


def _bare(text: str) -> str:
    lines = (re.sub(r"\s*-- .*$", "", line) for line in text.splitlines())
    return "\n".join(line for line in lines if line.strip()).strip().removesuffix(";")
