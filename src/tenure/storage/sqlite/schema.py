"""The schema of the SQLite store: applies migrations, and verifies that the schema is complete."""

from functools import cache

import apsw

from tenure.core.errors import SchemaMismatch
from tenure.storage.schema import catalogue, guards, ledger
from tenure.storage.schema import migration as migrations
from tenure.storage.schema.package_files import folder
from tenure.storage.sqlite.file.clock import TransactionTime

PACKAGE = ledger.SQLITE.package

REMOVAL = (
    "BEGIN; INSERT INTO tenure_permit VALUES (1); DELETE FROM tenure_{row}; DELETE FROM tenure_permit; COMMIT"
)
"""The SQL that deletes a record by hand."""

_HAS_LEDGER = "SELECT 1 FROM sqlite_schema WHERE name = 'tenure_migration'"
_APPLIED = "SELECT number, reads_from FROM tenure_migration"
_SAYS_READERS = "SELECT 1 FROM pragma_table_info('tenure_migration') WHERE name = 'reads_from'"
_STATE_TABLE = "SELECT sql FROM sqlite_schema WHERE name = 'tenure_job_state'"
_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"


def apply_next(connection: apsw.Connection, turn: TransactionTime) -> migrations.Migration | None:
    """Apply the first missing migration, in the writer's transaction; other processes wait for its lock."""
    lacking = migrations.missing(PACKAGE, _numbers(connection))
    if not lacking:
        return None
    connection.execute(ledger.SQLITE.create)
    connection.execute(lacking[0].text)
    connection.execute(
        "INSERT INTO tenure_migration (number, name, applied_at, reads_from) VALUES (?, ?, ?, ?)",
        (lacking[0].number, lacking[0].name, turn.now, lacking[0].reads_from),
    )
    return lacking[0]


def by_hand(connection: apsw.Connection, _turn: TransactionTime) -> str:
    """The SQL that would bring the database up to this code."""
    return ledger.by_hand(ledger.SQLITE, _numbers(connection))


def verify(connection: apsw.Connection) -> migrations.Fit:
    """Raise SchemaMismatch unless the schema is current and complete and the guards match the steps.

    What a newer version has added does no harm. It may have made guards stricter: they must be there.
    """
    fit = migrations.require_current(PACKAGE, _numbers(connection))
    catalogue.require(_expected(), _held(connection))
    held = {str(name): sql for name, sql in connection.execute(_TRIGGERS)}
    written = guards.written_in(migration.text for migration in migrations.known(PACKAGE))
    for name, text in {**written, **guards.sqlite_triggers()}.items():
        if not (name in held and fit.is_newer) and held.get(name) != text:
            raise SchemaMismatch(f"the database's guard {name} is missing or differs from this code")
    if guards.sqlite_lease_check() not in str(connection.execute(_STATE_TABLE).get):
        raise SchemaMismatch("the database's guard lease_while_owned is missing or differs from this code")
    return fit


@cache
def _expected() -> frozenset[str]:
    """The objects that the migrations make, read from an empty database."""
    connection = apsw.Connection(":memory:")
    connection.execute(ledger.SQLITE.create)
    for migration in migrations.known(PACKAGE):
        connection.execute(migration.text)
    held = _held(connection)
    connection.close()
    return held


def _held(connection: apsw.Connection) -> frozenset[str]:
    text = folder(PACKAGE).joinpath("catalogue.sql").read_text("utf-8")
    return frozenset(str(line) for (line,) in connection.execute(text))


def _numbers(connection: apsw.Connection) -> migrations.Numbers:
    if not connection.execute(_HAS_LEDGER).get:
        return {}
    if not connection.execute(_SAYS_READERS).get:
        raise migrations.made_before_the_first_release("move the file away, or name another one")
    return {int(str(number)): int(str(least)) for number, least in connection.execute(_APPLIED)}
