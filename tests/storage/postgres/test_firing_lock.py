"""The lock that saves work: while one process fires, others need not read the same."""

from tenure.storage.contract.store import Store
from tests.storage.backends import PostgresBackend
from tests.storage.clock import Clock
from tests.storage.contract.test_fire import due, firing
from tests.storage.contract.test_schedules import due_now
from tests.storage.verbs import seconds

LOCK = 7308325449218352743


async def test_while_one_process_fires_others_wait_for_two_seconds_at_most(
    store: Store, backend: PostgresBackend, clock: Clock
) -> None:
    """S1.16, S1.65: a try-lock spares them the reading; one that is frozen while it has it stops nobody."""
    schedule = await due(store, clock)
    assert schedule.next_at is not None
    await clock.advance(schedule.next_at - await store.now())
    frozen = await backend.connect()
    try:
        async with frozen.transaction():
            await frozen.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            assert await due_now(store) == []
            await clock.advance(seconds(2))
            [late] = await due_now(store)
            assert await store.fire([firing(late.schedule)]) != [None]
    finally:
        await frozen.close()
    await clock.advance(seconds(60))
    assert len(await due_now(store)) == 1
