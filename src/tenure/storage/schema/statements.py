"""Loads statements from SQL files, which are named after their verb.

A file holds one statement (`cancel`), or several under lines such as `-- part: find` (`enqueue.find`). Lines
between `-- only: limits` and `-- only: end` belong only to a longer form of their statement (`turn+limits`);
several forms may be named.
Values are written `:name`. SQLite takes them as they are; `numbered` makes them `$1, $2 …` for PostgreSQL.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tenure.storage.schema.package_files import sql_files

_PART = re.compile(r"^-- part: (\w+)$", re.MULTILINE)
_ONLY = re.compile(r"^-- only: (?!end$)(\w+(?:, \w+)*)\n(.*?)^-- only: end\n", re.MULTILINE | re.DOTALL)
_VERB = re.compile(r"[.+]")
_VALUE = re.compile(r"(?<![:\w]):([a-z_]+)")


class Numbered(NamedTuple):
    """A statement in PostgreSQL's own form, and the names of its values in order."""

    text: str
    names: tuple[str, ...]


class Statements(Mapping[str, str]):
    """Statements by name, without their comments.

    Each file is taken apart when one of its statements is first asked for: a short-lived process needs few.
    All are read before, so that none is of a newer version which was installed meanwhile.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` are those of the files, by verb."""
        self._texts = texts
        self._known: dict[str, str] = {}
        self._files: dict[str, Mapping[str, str]] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._known:
            self.file_of(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        for verb in self._texts:
            yield from self.file_of(verb)

    def __len__(self) -> int:
        return sum(len(self.file_of(verb)) for verb in self._texts)

    def file_of(self, name: str) -> Mapping[str, str]:
        """All statements of the file that has this one, in their order; none if there is no such file."""
        verb = _VERB.split(name, maxsplit=1)[0]
        if verb not in self._files and verb in self._texts:
            parts = _parts(verb, self._texts[verb])
            self._known.update(parts)
            self._files[verb] = parts
        return self._files.get(verb, {})


@cache
def load(package: str) -> Statements:
    """Every statement in a package's `sql` folder; read once per process."""
    return Statements(sql_files(package, "sql"))


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
