"""The objects of a database, one per line: does everything exist that the migrations make?"""

from collections.abc import Iterable

from tenure.core.errors import SchemaMismatch

_KINDS = ("type", "table", "sequence", "view", "column", "constraint", "index", "function")
"""From the whole to its parts: a table that is missing is named before its columns."""


def require(expected: Iterable[str], held: Iterable[str]) -> None:
    """Raise SchemaMismatch unless everything expected is held; additional objects do not matter."""
    if lacking := set(expected) - set(held):
        raise SchemaMismatch(
            f"the database lacks the {min(lacking, key=_rank)}, or has a different one: "
            "`tenure migrate --help` says how to see the SQL that makes it"
        )


def _rank(line: str) -> tuple[int, str]:
    return _KINDS.index(line.partition(" ")[0]), line
