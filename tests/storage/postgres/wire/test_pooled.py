"""Behind a transaction-mode pooler nothing depends on the session: no statement stays prepared."""

from tenure.core.model.lease import Pulse
from tenure.core.model.states import State
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.verbs import claim, enqueue_one, settle, state_of, succeeded


async def test_a_job_lives_its_life_without_anything_kept_in_the_session(backend: PostgresBackend) -> None:
    store = PostgresStore(backend.dsn, pooled=True)
    await store.open()
    job = await enqueue_one(store, key="once")
    assert await enqueue_one(store, key="once") == job
    [owned] = await claim(store)
    assert (await store.heartbeat(Pulse(worker="a", leases=[owned.lease]))).kept == {owned.lease}
    assert (await settle(store, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}
    assert await state_of(store, job) is State.SUCCEEDED

    prepared = await store._pool.run_task(
        lambda connection: connection.fetch("SELECT * FROM pg_prepared_statements")
    )
    assert prepared == []
    await store.close()


async def test_only_a_direct_connection_settles_how_plans_are_made(backend: PostgresBackend) -> None:
    modes = []
    for pooled in (False, True):
        store = PostgresStore(backend.dsn, pooled=pooled)
        await store.open()
        modes.append(
            await store._pool.run_task(lambda connection: connection.fetchval("SHOW plan_cache_mode"))
        )
        await store.close()
    assert modes == ["force_generic_plan", "auto"]
