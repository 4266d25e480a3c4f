"""Verbs as scripts: the parts of an SQL file, run in order inside one transaction.

The part `given` takes what the caller brought, row by row, into a scratch table; the parts after it decide
and move; the part `answer` ends the script with its rows. A part behind the answer is a statement of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from tenure.storage import statements
from tenure.storage.sqlite.connection import fetch
from tenure.storage.sqlite.rows import native

_CLEAR = """
    DELETE FROM temp.given_job; DELETE FROM temp.given; DELETE FROM temp.moving;
    DELETE FROM temp.place; DELETE FROM temp.picked
"""


class Scripts:
    """The verbs of the SQLite store, loaded from their files."""

    def __init__(self) -> None:
        self.statements = statements.load("tenure.storage.sqlite")
        self._parts: dict[str, list[tuple[str, str]]] = {}
        for name, text in self.statements.items():
            verb, _, part = name.partition(".")
            parts = self._parts.setdefault(verb, [])
            if not parts or parts[-1][0] != "answer":
                parts.append((part, text))

    def run(
        self, connection: apsw.Connection, verb: str, given: Iterable[Sequence[Any]] = (), /, **values: Any
    ) -> list[dict[str, Any]]:
        """Run a verb's script; answers with the rows of its last part."""
        connection.execute(_CLEAR)
        for part, text in self._parts[verb]:
            if part == "given":
                connection.executemany(text, given)
            elif part == "answer":
                return native(fetch(connection, text, values))
            else:
                connection.execute(text, values)
        raise LookupError(f"{verb}.sql has no part named answer")

    def one(self, connection: apsw.Connection, statement: str, /, **values: Any) -> list[dict[str, Any]]:
        """Run a single statement."""
        return native(fetch(connection, self.statements[statement], values))
