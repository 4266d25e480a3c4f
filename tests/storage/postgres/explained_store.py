"""A store that counts the rows its statements go through, with the plans that its connections keep.

Plans depend on what PostgreSQL knew of the tables when a statement was first run. `KNOWN` names such moments;
a plan must be good whichever it was.
"""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import asyncpg

from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Connection, Pool

KNOWN = ("nothing", "that they were empty", "that they held one row", "that they held a few", "all")
"""What PostgreSQL knows of the tables by the time they are full."""

ROWS_KNOWN = {"that they were empty": 0, "that they held one row": 1, "that they held a few": 50}

FORGET = "DO $$ DECLARE name text; BEGIN FOR name IN SELECT oid::regclass FROM pg_class \
WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'r' AND relname NOT IN \
('migration', 'store', 'retention', 'test_clock') LOOP EXECUTE 'TRUNCATE ' || name; END LOOP; END $$"
"""Makes PostgreSQL forget what it knows of the tables, which are empty then."""


class ExplainedPool(Pool):
    """Counts the rows that pass through the steps of each statement's plan, filtered ones too."""

    def __init__(self, dsn: str, *, pooled: bool) -> None:
        super().__init__(read_address(dsn)._replace(pooled=pooled), size=1, timeout=60)
        self.rows: Counter[str] = Counter()
        self._is_pooled = pooled
        self._prepared: dict[str, str] = {}

    async def run_with(self, statement: str, values: dict[str, Any]) -> list[asyncpg.Record]:
        text, arguments = self._bind(statement, values)

        async def explain(connection: Connection) -> str:
            transaction = connection.transaction()
            await transaction.start()
            if self._is_pooled:  # planned anew, for these values
                plan = await connection.fetchval(_EXPLAIN + text, *arguments)
            else:
                plan = await self._explain_prepared(connection, statement, text, arguments)
            await transaction.rollback()
            return str(plan)

        self.rows[statement] += _rows(json.loads(await self.run_task(explain))[0]["Plan"])
        return await super().run_with(statement, values)

    async def _explain_prepared(
        self, connection: Connection, statement: str, text: str, arguments: Sequence[Any]
    ) -> str:
        """A plan that is made once and for all values, as the statements of a direct connection have it."""
        if statement not in self._prepared:
            self._prepared[statement] = f"explained_{len(self._prepared)}"
            await connection.execute(f"PREPARE {self._prepared[statement]} AS {text}")
        kinds = [
            f"${place}::{kind.schema}.{kind.name}"
            for place, kind in enumerate((await connection.prepare(text)).get_parameters(), 1)
        ]
        given = ""
        if kinds:
            texts = f"SELECT format('({', '.join(['%L'] * len(kinds))})', {', '.join(kinds)})"
            given = await connection.fetchval(texts, *arguments)
        plan: str = await connection.fetchval(f"{_EXPLAIN} EXECUTE {self._prepared[statement]}{given}")
        return plan


class ExplainedStore(PostgresStore):
    """A store that counts the rows of its statements."""

    def __init__(self, dsn: str, *, pooled: bool = False) -> None:
        super().__init__(dsn, notify=False, pooled=pooled)
        self._pool = ExplainedPool(dsn, pooled=pooled)
        self._lines = LineIds(self._pool)
        self.rows = self._pool.rows


_EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "


def _rows(step: dict[str, Any]) -> int:
    in_vain = sum(step.get(f"Rows Removed by {kind}", 0) for kind in ("Filter", "Join Filter"))
    own = (step["Actual Rows"] + in_vain) * step["Actual Loops"]
    return int(own) + sum(_rows(part) for part in step.get("Plans", ()))
