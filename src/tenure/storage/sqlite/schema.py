"""The schema of the SQLite store: applying migrations, and making sure that its guards are ours."""

import apsw

from tenure.core.errors import SchemaMismatch
from tenure.storage import guards
from tenure.storage import migrate as migrations
from tenure.storage.sqlite.clock import Turn

PACKAGE = "tenure.storage.sqlite"

_LEDGER = """
    CREATE TABLE IF NOT EXISTS tenure_migration (
        number      INTEGER PRIMARY KEY,
        name        TEXT    NOT NULL,
        applied_at  INTEGER NOT NULL
    ) STRICT
"""
_APPLIED = "SELECT number FROM tenure_migration"
_STATE_TABLE = "SELECT sql FROM sqlite_schema WHERE name = 'tenure_job_state'"
_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"


def migrate(connection: apsw.Connection, turn: Turn) -> list[str]:
    """Apply what is missing, all in the writer's transaction; another process waits at its lock."""
    connection.execute(_LEDGER)
    applied = []
    for number, name, text in migrations.missing(PACKAGE, _numbers(connection)):
        connection.execute(text)
        connection.execute("INSERT INTO tenure_migration VALUES (?, ?, ?)", (number, name, turn.now))
        applied.append(f"{number:04}_{name}")
    return applied


def verify(connection: apsw.Connection, _turn: Turn) -> None:
    """Raise SchemaMismatch unless the schema is current and the guards are the table of steps."""
    has_ledger = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'tenure_migration'").get
    migrations.require_current(PACKAGE, _numbers(connection) if has_ledger else [])
    held = {str(name): sql for name, sql in connection.execute(_TRIGGERS)}
    for name, text in guards.sqlite_triggers().items():
        if held.get(name) != text:
            raise SchemaMismatch(f"the database's guard {name} is missing or differs from this code")
    if guards.sqlite_lease_check() not in str(connection.execute(_STATE_TABLE).get):
        raise SchemaMismatch("the database's guard lease_while_owned is missing or differs from this code")


def _numbers(connection: apsw.Connection) -> list[int]:
    return [int(str(number)) for (number,) in connection.execute(_APPLIED)]
