"""The schema of the PostgreSQL store: applies migrations, and verifies that it is complete and unchanged."""

import re

from tenure.core.errors import SchemaMismatch, StoreRestored
from tenure.core.model.states import MOVES, State
from tenure.storage.postgres.wire.pool import Connection
from tenure.storage.schema import catalogue, guards, ledger
from tenure.storage.schema import migration as migrations
from tenure.storage.schema.package_files import folder

PACKAGE = ledger.POSTGRES.package

REMOVAL = "BEGIN; SET LOCAL tenure.pruning = 'on'; DELETE FROM tenure.{row}; COMMIT"
"""The SQL that deletes a row of the records by hand."""

_HAS_LEDGER = "SELECT to_regclass('tenure.migration') IS NOT NULL"
_APPLIED = "SELECT number, reads_from FROM tenure.migration"
_SAYS_READERS = """
    SELECT EXISTS (SELECT FROM pg_attribute
                    WHERE attrelid = 'tenure.migration'::regclass AND attname = 'reads_from')
"""
_STEPS = """
    SELECT source::text, target::text
      FROM unnest(enum_range(NULL::tenure.state)) source, unnest(enum_range(NULL::tenure.state)) target
     WHERE tenure.is_step(source, target)
"""
_TRIGGERS = """
    SELECT relname || '.' || tgname AS name, pg_get_triggerdef(pg_trigger.oid) AS text
      FROM pg_trigger
      JOIN pg_class ON pg_class.oid = tgrelid
      JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = 'tenure' AND NOT tgisinternal AND tgenabled IN ('O', 'A')
"""
_BODY = "SELECT prosrc FROM pg_proc WHERE oid = to_regproc($1)"
COUNTED = "SELECT number + {offset}"
"""The body of `tenure.counted`: it carries the server's numbers on where a restore has cut them off."""

_MARKS = {
    "tenure.counted": re.escape(COUNTED).replace(re.escape("{offset}"), "[0-9]+"),
    "tenure.mark": re.escape("SELECT tenure.counted(pg_catalog.txid_current())"),
    "tenure.horizon": re.escape(
        "SELECT tenure.counted(pg_catalog.txid_snapshot_xmin(pg_catalog.txid_current_snapshot()))"
    ),
}
# What one snapshot shows has numbers below its end: transactions in flight, at whatever pace, are not in it.
_IS_AHEAD = """
    SELECT greatest((SELECT mark FROM tenure.event ORDER BY mark DESC LIMIT 1),
                    (SELECT mark FROM tenure.job ORDER BY mark DESC LIMIT 1))
           >= tenure.counted(txid_snapshot_xmax(txid_current_snapshot()))
"""
_LEASE_CHECK = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
     WHERE conrelid = 'tenure.job_state'::regclass AND conname = 'lease_while_owned' AND convalidated
"""


async def apply_next(connection: Connection) -> migrations.Migration | None:
    """Apply the first missing migration, in a transaction of its own; concurrent calls take turns."""
    async with connection.transaction():
        await connection.execute(ledger.POSTGRES.lock)
        lacking = migrations.missing(PACKAGE, await _numbers(connection))
        if not lacking:
            return None
        await connection.execute(ledger.POSTGRES.create)
        await connection.execute(lacking[0].text)
        await connection.execute(
            "INSERT INTO tenure.migration (number, name, reads_from) VALUES ($1, $2, $3)",
            lacking[0].number,
            lacking[0].name,
            lacking[0].reads_from,
        )
    return lacking[0]


async def by_hand(connection: Connection) -> str:
    """The SQL that would bring the database up to date."""
    return ledger.by_hand(ledger.POSTGRES, await _numbers(connection))


async def verify(connection: Connection) -> migrations.Fit:
    """Raise SchemaMismatch unless the schema is current and complete and its guards match the code.

    What a newer version has added does no harm. It may have made guards stricter: they must be there.
    Raises StoreRestored if there are marks that the server has not come to yet.
    """
    async with connection.transaction():
        # PostgreSQL omits the schema of every name that the search path finds.
        await connection.execute("SET LOCAL search_path TO pg_catalog")
        fit = migrations.require_current(PACKAGE, await _numbers(connection))
        catalogue.require(
            folder(PACKAGE).joinpath("catalogue.txt").read_text("utf-8").splitlines(), await held(connection)
        )
        await _verify_guards(connection, by_name=fit.is_newer)
        if await connection.fetchval(_IS_AHEAD):
            raise StoreRestored
    return fit


async def held(connection: Connection) -> list[str]:
    """The parts of the schema, one line each."""
    text = folder(PACKAGE).joinpath("catalogue.sql").read_text("utf-8")
    return sorted(row[0] for row in await connection.fetch(text))


async def _verify_guards(connection: Connection, *, by_name: bool) -> None:
    steps = {(State(row["source"]), State(row["target"])) for row in await connection.fetch(_STEPS)}
    if differing := steps ^ set(MOVES):
        source, target = min(differing)
        raise SchemaMismatch(f"the database's guard differs from this code on the step {source} to {target}")
    found = {row["name"]: row["text"] for row in await connection.fetch(_TRIGGERS)}
    found["lease_while_owned"] = await connection.fetchval(_LEASE_CHECK) or ""
    ours = {
        **guards.written_in(migration.text for migration in migrations.known(PACKAGE)),
        **guards.postgres_triggers(),
        "lease_while_owned": guards.postgres_lease_check(),
    }
    for name, text in ours.items():
        held = found.get(name, "")
        if not (held and by_name) and not guards.same_wording(text, held):
            raise SchemaMismatch(f"the database's guard {name} is missing, disabled or changed")
    for name, body in (("tenure.refuse", guards.REFUSE), ("tenure.judge", guards.postgres_judge())):
        held = await connection.fetchval(_BODY, name)
        if not (held and by_name) and held != body:
            raise SchemaMismatch(f"the database's function {name} is missing or changed")
    for name, pattern in _MARKS.items():
        if not re.fullmatch(pattern, await connection.fetchval(_BODY, name) or ""):
            raise SchemaMismatch(f"the database's function {name} is missing or changed")


async def _numbers(connection: Connection) -> migrations.Numbers:
    if not await connection.fetchval(_HAS_LEDGER):
        return {}
    if not await connection.fetchval(_SAYS_READERS):
        raise migrations.made_before_the_first_release("drop its schema `tenure`, or name another database")
    return {row["number"]: row["reads_from"] for row in await connection.fetch(_APPLIED)}
