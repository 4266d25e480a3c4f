"""Mending on PostgreSQL: what its lock has found is looked at again before anything is changed."""

from tenure.core.model.limit import Limit
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import claim, enqueue_one, settle, succeeded


async def test_a_place_that_was_taken_after_it_had_looked_loose_is_not_freed(
    store: PostgresStore, backend: PostgresBackend
) -> None:
    """It may have been freed and claimed in between: the lock sees that it is held, but not by whom."""
    await enqueue_one(store, limits=(Limit("box", size=2),))
    [owned] = await claim(store)
    [(limited, taken)] = await backend.sql("SELECT limited, n FROM tenure.slot WHERE is_held")
    await backend.sql("UPDATE tenure.slot SET is_held = true")

    [mended] = await store._pool.run("mend_slots.mend", limited=limited, places=[1, 2])

    assert (mended["freed"], mended["unleased"]) == (1, 0)
    held = "SELECT n FROM tenure.slot WHERE is_held"
    assert await backend.sql(held) == [(taken,)]
    await settle(store, [succeeded(owned)])
    assert await backend.sql(held) == []
