"""The permission to prune: it ends with the transaction, not with the session."""

import asyncpg

from tenure.core.reports.retention import Retention
from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tenure.storage.postgres.wire.pool import Connection
from tests.storage.backends import PostgresBackend
from tests.storage.clock import Clock
from tests.storage.verbs import enqueue_one, seconds

EVERYTHING = Retention(succeeded=seconds(0), others=seconds(0), keyed=seconds(0))


async def refusal(connection: Connection) -> str:
    """What the guards say to a deletion in this very session."""
    try:
        await connection.execute("DELETE FROM tenure.job")
    except asyncpg.PostgresError as error:
        return str(error)
    return "none"


async def test_the_session_that_has_pruned_may_not_delete(
    store: Store, backend: PostgresBackend, clock: Clock
) -> None:
    """Neither where something was pruned nor where there was nothing to prune."""
    single = PostgresStore(backend.dsn, connections=1)
    await single.open()
    await store.cancel([await enqueue_one(store)])
    await enqueue_one(store)
    await clock.advance(seconds(1))
    for pruned in (1, 0):
        assert (await single.prune(EVERYTHING)).jobs == pruned
        assert "only retention deletes" in await single._pool.run_task(refusal)
    await single.close()
