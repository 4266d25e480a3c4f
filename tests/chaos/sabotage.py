"""Tenure with something essential taken out: statements with a condition less, databases without a guard.

A patch names the statement and the words to replace, so that one which no longer fits fails loudly. White
space does not count.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from tenure.storage import guards, statements
from tests.storage.backends import Backend

NOTHING = "SELECT 1"
"""In place of a whole statement."""

Patch = tuple[str, str, str]
"""Statement, words, other words; without words, the whole statement is replaced."""


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

    def load(self, kind: str, load: Callable[[str], Mapping[str, str]]) -> Callable[[str], Mapping[str, str]]:
        """Statements as they are loaded, with the patches."""

        def patched(package: str) -> Mapping[str, str]:
            loaded = dict(load(package))
            for name, words, others in self.patches.get(kind, ()):
                text, old = _plain(loaded[name]), _plain(words)
                assert old in text, f"{name} of {kind} has no words {old!r} to take out"
                loaded[name] = text.replace(old, _plain(others)) if old else others
            return loaded

        return patched

    async def apply(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        """Break the database, and every store that is made from now on."""
        monkeypatch.setattr(statements, "load", self.load(backend.kind, statements.load))
        if backend.kind in self.sql:
            await backend.sql(self.sql[backend.kind])
        if self.unguarded:
            for statement in _no_guards(backend.kind):
                await backend.sql(statement)


def _no_guards(kind: str) -> list[str]:
    if kind == "sqlite":
        return [f"BEGIN; {' '.join(f'DROP TRIGGER {name};' for name in guards.sqlite_triggers())} COMMIT"]
    tables = {name.partition(".")[0] for name in guards.postgres_triggers()}
    return [f"ALTER TABLE tenure.{table} DISABLE TRIGGER USER" for table in sorted(tables)]


def _plain(text: str) -> str:
    return " ".join(text.split())
