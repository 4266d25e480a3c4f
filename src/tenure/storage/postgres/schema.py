"""The schema of the PostgreSQL store: applying migrations, and making sure that its guards are ours."""

from tenure.core.errors import SchemaMismatch
from tenure.core.states import MOVES, State
from tenure.storage import guards
from tenure.storage import migrate as migrations
from tenure.storage.postgres.pool import Connection

PACKAGE = "tenure.storage.postgres"

_LEDGER = """
    CREATE SCHEMA IF NOT EXISTS tenure;
    CREATE TABLE IF NOT EXISTS tenure.migration (
        number      integer     PRIMARY KEY,
        name        text        NOT NULL,
        applied_at  timestamptz NOT NULL DEFAULT pg_catalog.now()
    )
"""
# Any constant will do, as long as every version of tenure uses the same.
_TURNSTILE = "SELECT pg_advisory_xact_lock(7308325449218352741)"
_HAS_LEDGER = "SELECT to_regclass('tenure.migration') IS NOT NULL"
_APPLIED = "SELECT number FROM tenure.migration"
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
_REFUSE = "SELECT prosrc FROM pg_proc WHERE oid = to_regproc('tenure.refuse')"
_LEASE_CHECK = """
    SELECT pg_get_constraintdef(oid) FROM pg_constraint
     WHERE conrelid = 'tenure.job_state'::regclass AND conname = 'lease_while_owned' AND convalidated
"""


async def migrate(connection: Connection) -> list[str]:
    """Apply what is missing, each migration in its own transaction; two at once take turns."""
    applied: list[str] = []
    while True:
        async with connection.transaction():
            await connection.execute(_TURNSTILE)
            await connection.execute(_LEDGER)
            lacking = migrations.missing(PACKAGE, await _numbers(connection))
            if not lacking:
                return applied
            number, name, text = lacking[0]
            await connection.execute(text)
            await connection.execute(
                "INSERT INTO tenure.migration (number, name) VALUES ($1, $2)", number, name
            )
        applied.append(f"{number:04}_{name}")


async def verify(connection: Connection) -> None:
    """Raise SchemaMismatch unless the schema is current and the guards are the table of steps."""
    migrations.require_current(PACKAGE, await _numbers(connection))
    steps = {(State(row["source"]), State(row["target"])) for row in await connection.fetch(_STEPS)}
    if difference := steps ^ set(MOVES):
        source, target = min(difference)
        raise SchemaMismatch(f"the database's guard differs from this code on the step {source} to {target}")
    held = {row["name"]: row["text"] for row in await connection.fetch(_TRIGGERS)}
    held["lease_while_owned"] = await connection.fetchval(_LEASE_CHECK) or ""
    ours = {**guards.postgres_triggers(), "lease_while_owned": guards.postgres_lease_check()}
    for name, text in ours.items():
        if not guards.same_wording(text, held.get(name, "")):
            raise SchemaMismatch(f"the database's guard {name} is missing, switched off or not ours")
    if await connection.fetchval(_REFUSE) != guards.REFUSE:
        raise SchemaMismatch("the database's function tenure.refuse is not ours")


async def _numbers(connection: Connection) -> list[int]:
    if not await connection.fetchval(_HAS_LEDGER):
        return []
    return [row["number"] for row in await connection.fetch(_APPLIED)]
