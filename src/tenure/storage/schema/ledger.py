"""The ledger of migrations in each kind of database, and migrations as SQL to be run by hand.

Needs no driver: the SQL is available where no database can be reached.
"""

from types import MappingProxyType
from typing import NamedTuple

from tenure.storage.schema import migration
from tenure.storage.schema.migration import Numbers


class Ledger(NamedTuple):
    """How one kind of database records which migrations it has."""

    package: str
    command: str
    begin: str
    lock: str
    """Lets one process at a time migrate, until the transaction ends."""
    create: str
    entry: str


POSTGRES = Ledger(
    package="tenure.storage.postgres",
    command="psql --set ON_ERROR_STOP=1 --file=THIS_FILE DATABASE",
    begin="BEGIN;",
    # Any number will do, as long as every version of tenure uses the same.
    lock="SELECT pg_catalog.pg_advisory_xact_lock(7308325449218352741);",
    create="""\
CREATE SCHEMA IF NOT EXISTS tenure;
CREATE TABLE IF NOT EXISTS tenure.migration (
    number      integer     PRIMARY KEY,
    name        text        NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT pg_catalog.now(),
    reads_from  integer     NOT NULL
);""",
    entry="INSERT INTO tenure.migration (number, name, reads_from)"
    " VALUES ({number}, '{name}', {reads_from});",
)
SQLITE = Ledger(
    package="tenure.storage.sqlite",
    # The shell would go on after an error, and commit.
    command="sqlite3 -bail DATABASE < THIS_FILE",
    begin="BEGIN IMMEDIATE;",
    lock="",
    create="""\
CREATE TABLE IF NOT EXISTS tenure_migration (
    number      INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL,
    applied_at  INTEGER NOT NULL,
    reads_from  INTEGER NOT NULL
) STRICT;""",
    entry="INSERT INTO tenure_migration (number, name, applied_at, reads_from)"
    " VALUES ({number}, '{name}', 1000000 * strftime('%s', 'now'), {reads_from});",
)
LEDGERS = {"sqlite": SQLITE, "postgres": POSTGRES}


def by_hand(ledger: Ledger, applied: Numbers = MappingProxyType({})) -> str:
    """The SQL that a database with these migrations still needs, in one transaction, its ledger included."""
    lacking = migration.missing(ledger.package, applied)
    if not lacking:
        return "-- Nothing is missing.\n"
    parts = [
        f"-- Run it whole: {ledger.command}\n-- If a statement fails, nothing is changed.",
        f"{ledger.begin}\n{ledger.lock}".strip(),
        ledger.create,
        *(f"-- {one.label}\n{one.text.strip()}\n" + ledger.entry.format(**one._asdict()) for one in lacking),
        "COMMIT;\n",
    ]
    return "\n\n".join(parts)
