"""A past in PostgreSQL, and what PostgreSQL counts itself: rows read and pages touched, relation by relation.

The counters of the running transaction know of everything that a statement does, once: also of what its
triggers do, and of its parts that change data and that nobody reads, which an explained plan does not add up.
Counted are the tables that grow with history, and their indexes.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

import asyncpg

from tenure.core.reports.reading import Position
from tenure.storage.contract.store import Store
from tenure.storage.postgres.claims.line_ids import LineIds
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.addresses import read_address
from tenure.storage.postgres.wire.pool import Connection, Pool
from tests.postgres_server import PostgresServer
from tests.storage.backends import PostgresBackend
from tests.storage.clock import START
from tests.storage.touched.cost import Cost, Costs, add
from tests.storage.touched.history import LINES, PAST, Past, states_in_sql

T = TypeVar("T")

# The feed ends before the oldest transaction in flight: marks must be those of transactions that are over.
_USE_UP_TRANSACTIONS = """
    DO $$
    BEGIN
        FOR i IN 0..{marks} LOOP
            PERFORM pg_current_xact_id();
            COMMIT;
        END LOOP;
    END $$
"""
_STAGE = f"""
    CREATE TEMP TABLE past AS
    SELECT numbered.*,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'retrying') THEN i ELSE 0 END AS fence,
           CASE WHEN state IN ('succeeded', 'failed', 'buried', 'retrying') THEN 3
                WHEN state = 'cancelled' THEN 2
                ELSE 1
           END AS steps,
           CASE WHEN state IN ('scheduled', 'retrying')
                THEN '{{now}}'::timestamptz + interval '1 day' + i * interval '1 ms'
           END AS due_at,
           (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000'
            || lpad(to_hex(i), 12, '0'))::uuid AS id
      FROM (SELECT i, {{first_mark}} + i / 10 AS mark,
                   '{{now}}'::timestamptz - interval '60 days' + i * interval '30 days' / {{all}} AS at,
                   CASE WHEN i % 5 = 0 THEN '["red"]' END AS tags,
                   CASE WHEN i <= {{jobs}} THEN 0 WHEN i % 4 = 0 THEN -10 ELSE -20 END AS rank,
                   CASE WHEN i <= {{jobs}} THEN 1 + i % {len(LINES)} WHEN i % 4 = 0 THEN 5 ELSE i % 4
                   END AS line,
                   CASE WHEN i > {{jobs}} THEN 'queued' ELSE {states_in_sql("i")} END::tenure.state AS state
              FROM generate_series(1, {{all}}) AS i) numbered;
"""
# What is on record is not born finished: the guards stand aside while it is written.
_GUARDS = "ALTER TABLE tenure.job_state {} TRIGGER USER;"
_NUMBER_ON = "SELECT setval('tenure.place', {all}), setval('tenure.lease_id_seq', {all});"
_MIDDLE = "SELECT mark::text::bigint, id, steps FROM past WHERE i = {jobs} / 2"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'tenure'"
_COUNTERS = """
    SELECT relname AS name,
           pg_stat_get_xact_tuples_returned(pg_class.oid) AS rows,
           pg_stat_get_xact_blocks_fetched(pg_class.oid) AS pages,
           CASE WHEN indrelid IS NOT NULL
                THEN pg_stat_get_xact_numscans(pg_class.oid) + pg_stat_get_xact_tuples_inserted(indrelid)
                     + pg_stat_get_xact_tuples_updated(indrelid)
                     - pg_stat_get_xact_tuples_hot_updated(indrelid)
                ELSE 0 END AS look_ups
      FROM pg_class
      LEFT JOIN pg_index ON indexrelid = pg_class.oid
     WHERE coalesce(indrelid, pg_class.oid) = ANY (ARRAY['tenure.job', 'tenure.job_state', 'tenure.event',
               'tenure.attempt', 'tenure.result', 'tenure.ready', 'tenure.timer', 'tenure.tag',
               'tenure.finished', 'tenure.step', 'tenure.kept', 'tenure.checkpoint',
               'tenure.wait']::regclass[])
"""


class PostgresPast(PostgresBackend):
    """A database of its own on the suite's server.

    A direct store plans once, and must use its indexes. A pooled one has no settings of its own and plans
    each call anew; in a small database it may well read whole tables, which is no measure for anything.
    """

    ways: ClassVar[Mapping[str, str]] = {"direct": "direct", "pooled": "direct"}

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server, f"past_{uuid4().hex}")

    async def fill(self, past: Past) -> Position:
        count = past.jobs + past.crowd
        [(first_mark,)] = await self.sql("SELECT pg_current_xact_id()::text::bigint")
        numbers = {
            "jobs": past.jobs,
            "all": count,
            "first_mark": first_mark,
            "marks": count // 10,
            "now": START,
        }
        await self._connection.execute(_USE_UP_TRANSACTIONS.format(**numbers))
        await self._connection.execute(_STAGE.format(**numbers))
        script = [_GUARDS.format("DISABLE"), PAST, _GUARDS.format("ENABLE"), _NUMBER_ON.format(**numbers)]
        await self._connection.execute("".join(script))
        [(mark, job, n)] = await self.sql(_MIDDLE.format(**numbers))
        return Position(mark, job, n)

    async def settle_down(self) -> None:
        tables = [f"tenure.{name}" for (name,) in await self.sql(_TABLES)]
        await self._connection.execute(f"VACUUM (ANALYZE) {', '.join(tables)}")

    @asynccontextmanager
    async def watched(self, way: str) -> AsyncIterator[tuple[Store, Costs]]:
        store = WatchedStore(self.dsn, pooled=way == "pooled")
        await store.open()
        yield store, store.costs
        await store.close()


class WatchedPool(Pool):
    """Counts what statements touch, and undoes them."""

    def __init__(self, dsn: str, *, pooled: bool) -> None:
        super().__init__(read_address(dsn)._replace(pooled=pooled), size=1, timeout=60)
        self.costs: Costs = {}

    async def run_with(self, statement: str, values: dict[str, object]) -> list[asyncpg.Record]:
        [answer] = await self.run_all((statement, values))
        return answer

    async def transact(self, task: Callable[[Any], Awaitable[T]]) -> T:
        async def undone(connection: Connection) -> T:
            async def run(statement: str, /, **values: object) -> list[asyncpg.Record]:
                return await self._counted(connection, statement, values)

            transaction = connection.transaction()
            await transaction.start()
            # Where a plan wants other processes to help it gets none: they would count for themselves.
            await connection.execute("SET LOCAL max_parallel_workers = 0")
            answer = await task(run)
            await transaction.rollback()
            return answer

        return await self.run_task(undone)

    async def _counted(
        self, connection: Connection, statement: str, values: dict[str, object]
    ) -> list[asyncpg.Record]:
        text, arguments = self._bind(statement, values)
        # The planner glances at the ends of indexes, and once only stumbles over what was undone before.
        await connection.fetch(f"EXPLAIN {text}", *arguments)
        before = await connection.fetch(_COUNTERS)
        answer = await connection.fetch(text, *arguments)
        after = await connection.fetch(_COUNTERS)
        for kind in ("rows", "pages"):
            add(self.costs, f"{statement}: {kind}", _difference(before, after, kind))
        return answer


class WatchedStore(PostgresStore):
    """A store that leaves everything as it was, and tells what its statements cost."""

    def __init__(self, dsn: str, *, pooled: bool) -> None:
        super().__init__(dsn, pooled=pooled, notify=False)
        pool = WatchedPool(dsn, pooled=pooled)
        self._pool, self._lines, self.costs = pool, LineIds(pool), pool.costs


def _difference(before: list[asyncpg.Record], after: list[asyncpg.Record], kind: str) -> Cost:
    counts: Counter[str] = Counter({row["name"]: row[kind] for row in after})
    counts.subtract({row["name"]: row[kind] for row in before})
    look_ups = sum(row["look_ups"] for row in after) - sum(row["look_ups"] for row in before)
    return Cost(+counts, look_ups if kind == "pages" else 0)
