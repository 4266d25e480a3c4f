"""Tenure with something essential taken out: statements with a condition less, databases without a guard.

A patch names the statement and the words to replace, so that one which no longer fits fails loudly. White
space does not count.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from tenure.storage.schema import guards, statements
from tenure.storage.schema.statements import Statements
from tenure.storage.sqlite.file import connection
from tenure.storage.sqlite.file.connection import scratch
from tests.storage.backends import Backend

NOTHING = "SELECT 1"
"""In place of a whole statement."""

SCRATCH = "scratch"
"""In place of a statement's name: what SQLite's verbs work with while they run."""

Patch = tuple[str, str, str]
"""Statement, words, other words; without words, the whole statement is replaced."""


class PatchedStatements(Statements):
    """Statements, some of them patched."""

    def __init__(self, loaded: Statements, patches: Iterable[Patch]) -> None:
        super().__init__({})
        self._loaded = loaded
        self._patched: dict[str, str] = {}
        for patch in patches:
            self._patched[patch[0]] = _patched(self[patch[0]], patch)

    def __getitem__(self, name: str) -> str:
        return self._patched.get(name) or self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)

    def file_of(self, name: str) -> Mapping[str, str]:
        return {one: self[one] for one in self._loaded.file_of(name)}


@dataclass(frozen=True)
class Sabotage:
    """What is broken, by kind of store, and whether the database's own guards are gone too."""

    patches: Mapping[str, tuple[Patch, ...]] = field(default_factory=dict)
    sql: Mapping[str, str] = field(default_factory=dict)
    unguarded: bool = False

    @property
    def stores(self) -> list[str]:
        """The stores that it is made for."""
        return sorted({*self.patches, *self.sql})

    @property
    def changes_schema(self) -> bool:
        """Whether the database is of no use to others afterwards."""
        return self.unguarded or bool(self.sql)

    def load(self, kind: str, load: Callable[[str], Statements]) -> Callable[[str], Statements]:
        """Statements as they are loaded, with the patches."""
        patches = [patch for patch in self.patches.get(kind, ()) if patch[0] != SCRATCH]
        return lambda package: PatchedStatements(load(package), patches)

    def scratch(self, name: str) -> str:
        """The scratch tables of SQLite's verbs, with the patches."""
        text = scratch(name)
        for patch in self.patches.get("sqlite", ()) if name == SCRATCH else ():
            text = _patched(text, patch) if patch[0] == SCRATCH else text
        return text

    async def apply(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        """Break the database, and every store that is made from now on."""
        monkeypatch.setattr(statements, "load", self.load(backend.kind, statements.load))
        monkeypatch.setattr(connection, "scratch", self.scratch)
        if backend.kind in self.sql:
            await backend.sql(self.sql[backend.kind])
        if self.unguarded:
            for statement in _no_guards(backend.kind):
                await backend.sql(statement)


def _patched(text: str, patch: Patch) -> str:
    name, words, others = patch
    old = _plain(words)
    if not old:
        return others
    text = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    assert old in _plain(text), f"{name} has no words {old!r} to take out"
    return _plain(text).replace(old, _plain(others))


def _no_guards(kind: str) -> list[str]:
    if kind == "sqlite":
        return [f"BEGIN; {' '.join(f'DROP TRIGGER {name};' for name in guards.sqlite_triggers())} COMMIT"]
    tables = {name.partition(".")[0] for name in guards.postgres_triggers()}
    return [f"ALTER TABLE tenure.{table} DISABLE TRIGGER USER" for table in sorted(tables)]


def _plain(text: str) -> str:
    return " ".join(text.split())
