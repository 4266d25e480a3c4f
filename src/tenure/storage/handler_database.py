"""Whether the database that handlers are given for transactions of their own is the one that has the jobs."""

import asyncpg

from tenure.core.values.urls import masked
from tenure.storage.postgres.wire.addresses import read_address

CONNECTING = 10
"""Seconds for a connection."""

_FUNCTION = "tenure.keep_step(uuid, bigint, text, text, text)"
_GRANTS = f"GRANT USAGE ON SCHEMA tenure TO {{user}}; GRANT EXECUTE ON FUNCTION {_FUNCTION} TO {{user}}"

_LOOK = """
SELECT f.oid IS NOT NULL AS is_there,
       has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(f.oid, 'EXECUTE') AS may,
       current_user AS "user", quote_ident(current_user) AS quoted,
       ARRAY[(SELECT oid FROM pg_database WHERE datname = current_database())::text, f.oid::text,
             pg_postmaster_start_time()::text] AS place
  FROM (SELECT) one
  LEFT JOIN pg_namespace n ON n.nspname = 'tenure'
  LEFT JOIN pg_proc f ON f.pronamespace = n.oid AND f.proname = 'keep_step'
"""


async def why_no_transactions(address: str, database: str) -> str | None:
    """Why handlers with this address cannot keep steps of jobs in that database; None where they can."""
    try:
        found = await _look(address)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        return f"whose address leads to no database: {type(error).__name__}: {error!s:.300}"
    if not found["is_there"]:
        return (
            f"which leads to {masked(address)}, a database without the function tenure.keep_step: it must be "
            "the one that has the jobs, migrated by `tenure migrate`"
        )
    if not found["may"]:
        grants = _GRANTS.format(user=found["quoted"])
        return f"whose user {found['user']} may not keep steps; in that database, run {grants}"
    ours = await _look(read_address(database).dsn)
    if found["place"] != ours["place"]:
        return f"which leads to {masked(address)}, another database than the one that has the jobs"
    return None


async def _look(dsn: str) -> asyncpg.Record:
    connection = await asyncpg.connect(dsn, timeout=CONNECTING, statement_cache_size=0)
    try:
        found = await connection.fetchrow(_LOOK)
    finally:
        await connection.close(timeout=CONNECTING)
    assert found is not None  # noqa: S101  the statement has one row
    return found
