"""A migration that is killed at any statement leaves a database that the next one brings to its end."""

from itertools import count
from pathlib import Path

from tests.storage.backends import Backend
from tests.storage.killed_migration import migrates_until, statements_of
from tests.whole import IS_WHOLE

EVERY = 5 if IS_WHOLE else 11
"""Statements from one death to the next: several deaths, few enough to be quick."""


async def test_a_migration_killed_at_any_statement_is_taken_up_by_the_next(empty: Backend) -> None:
    deaths = 0
    for statement in count(1, EVERY):
        await wipe(empty)
        if migrates_until(statement, empty.address):
            break
        deaths += 1
        store = empty.store()
        await store.open()
        await store.migrate()
        await store.verify()
        await store.close()
    assert deaths > 5


def test_a_semicolon_ends_a_statement_only_outside_of_strings_bodies_and_comments() -> None:
    text = "SELECT ';' ; -- no; end\nCREATE FUNCTION f() AS $$ BEGIN; END $$;\nSELECT a->b - 'it''s;'\n;\n"
    assert [" ".join(statement.split()) for statement in statements_of(text)] == [
        "SELECT ';'",
        "CREATE FUNCTION f() AS $$ BEGIN; END $$",
        "SELECT a->b - 'it''s;'",
    ]


async def wipe(backend: Backend) -> None:
    """Make a database empty again."""
    if backend.kind == "sqlite":
        path = Path(backend.address.removeprefix("sqlite:///"))
        for file in path.parent.glob(f"{path.name}*"):
            file.unlink()
    else:
        await backend.sql("DROP SCHEMA IF EXISTS tenure CASCADE")
