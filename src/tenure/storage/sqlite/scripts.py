"""Verbs as scripts: the parts of an SQL file, run in order inside one transaction.

The part `given` inserts the caller's rows into a scratch table; the parts after it decide and move; the part
`answer` ends the script with its rows. A part behind the answer is a separate statement.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import apsw
import msgspec

from tenure.storage.schema import statements
from tenure.storage.sqlite.file.connection import fetch
from tenure.storage.sqlite.rows import native

_CLEAR = """
    DELETE FROM temp.given; DELETE FROM temp.moving; DELETE FROM temp.place; DELETE FROM temp.picked
"""
# Runs on connections of callers, too, which have only this scratch table.
_CLEAR_BEFORE = {"enqueue": "DELETE FROM temp.given_job"}


Step = Callable[[apsw.Connection, str, dict[str, Any]], None]
"""Runs a part in another way: is given the part's text and values."""


class Only(NamedTuple):
    """How to restrict a script to some jobs that it finds: behind which part, in which scratch table."""

    behind: str
    table: str


_NO_STEPS: Mapping[str, Step] = MappingProxyType({})


class Scripts:
    """The verbs of the SQLite store, loaded from their files."""

    def __init__(self) -> None:
        self.statements = statements.load("tenure.storage.sqlite")
        self._scripts: dict[str, list[tuple[str, str]]] = {}

    def run(
        self, connection: apsw.Connection, verb: str, given: Iterable[Sequence[Any]] = (), /, **values: Any
    ) -> list[dict[str, Any]]:
        """Run a verb's script; returns the rows of its last part."""
        return native(fetch(connection, self._move(connection, verb, given, values), values))

    def bare(
        self,
        connection: apsw.Connection,
        verb: str,
        given: Iterable[Sequence[Any]],
        steps: Mapping[str, Step] = _NO_STEPS,
        /,
        **values: Any,
    ) -> list[tuple[Any, ...]]:
        """Run a verb's script; returns the rows of its last part unconverted, by position."""
        return list(connection.execute(self._move(connection, verb, given, values, steps), values))

    def run_only(
        self, connection: apsw.Connection, verb: str, only: Only, jobs: Collection[str], /, **values: Any
    ) -> None:
        """Run a verb's script for some of the jobs that it finds; leases are not cleaned up."""
        parts = [part for part in self.parts_of(verb)[:-1] if part[0] != "swept"]
        found = [part for part, _ in parts].index(only.behind) + 1
        self._run_parts(connection, verb, parts[:found], (), values)
        named = msgspec.json.encode(sorted(jobs)).decode()
        connection.execute(self.statements[f"sift.only_{only.table}"], {"named": named})
        for _, text in parts[found:]:
            connection.execute(text, values)

    def find(self, connection: apsw.Connection, verb: str, only: Only, /, **values: Any) -> None:
        """Run a verb's script up to the part that finds its jobs."""
        parts = self.parts_of(verb)[:-1]
        found = [part for part, _ in parts].index(only.behind) + 1
        self._run_parts(connection, verb, parts[:found], (), values)

    def _move(
        self,
        connection: apsw.Connection,
        verb: str,
        given: Iterable[Sequence[Any]],
        values: dict[str, Any],
        steps: Mapping[str, Step] = _NO_STEPS,
    ) -> str:
        """Run all parts but the last; returns the text of the last, which is the answer."""
        *parts, (last, answer) = self.parts_of(verb) or [("", "")]
        if last != "answer":
            raise LookupError(f"{verb}.sql has no part named answer")
        self._run_parts(connection, verb, parts, given, values, steps)
        return answer

    def parts_of(self, verb: str) -> list[tuple[str, str]]:
        """The parts of a verb with their names, up to its answer. Several threads may be the first to ask."""
        if verb not in self._scripts:
            parts = list[tuple[str, str]]()
            for name, text in self.statements.file_of(verb).items():
                whose, _, part = name.partition(".")
                if whose == verb:
                    parts.append((part, text))
                if part == "answer":
                    break
            self._scripts[verb] = parts
        return self._scripts[verb]

    def _run_parts(
        self,
        connection: apsw.Connection,
        verb: str,
        parts: Iterable[tuple[str, str]],
        given: Iterable[Sequence[Any]],
        values: dict[str, Any],
        steps: Mapping[str, Step] = _NO_STEPS,
    ) -> None:
        connection.execute(_CLEAR_BEFORE.get(verb, _CLEAR))
        for part, text in parts:
            if part == "given":
                connection.executemany(text, given)
            elif part in steps:
                steps[part](connection, text, values)
            else:
                connection.execute(text, values)

    def one(self, connection: apsw.Connection, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Run a single statement."""
        return native(fetch(connection, self.statements[statement], values))
