"""Shared statements: an error fails only the call that causes it, an outage every call, each for itself."""

import asyncio
from uuid import UUID

import asyncpg
import pytest

from tenure.core.errors import StoreBusy, StoreUnavailable, TenureError
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Claimed
from tenure.core.values.documents import Document
from tenure.storage.contract.store import Store
from tenure.storage.postgres.store import PostgresStore
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.lock_waits import PATIENCE, until_waiting
from tests.storage.postgres.relay import Relay
from tests.storage.verbs import claim, enqueue_one, settle, succeeded
from tests.until import until


async def hold_key(foreign: asyncpg.Connection, key: str) -> None:
    """Let the foreign transaction record a job with this key, a copy of one that is there."""
    await foreign.execute(f"""
        INSERT INTO tenure.job
        SELECT (jsonb_populate_record(job, jsonb_build_object('id', gen_random_uuid(), 'key', '{key}'))).*
          FROM tenure.job LIMIT 1""")


async def test_only_the_call_whose_key_is_held_is_refused(store: Store, foreign: asyncpg.Connection) -> None:
    """Calls that share a statement do not fail because of each other."""
    await enqueue_one(store)
    await hold_key(foreign, "held")
    jobs = [NewJob(definition="mail", key=key) for key in ("a", "b", "c", "held", "d", "e", "f")]

    async with asyncio.timeout(PATIENCE):
        answers = await asyncio.gather(*(store.enqueue([job]) for job in jobs), return_exceptions=True)

    assert isinstance(answers.pop(3), StoreBusy)
    for answer in answers:
        assert not isinstance(answer, BaseException), answer
        assert answer[0].fresh


async def test_a_refused_key_may_be_tried_again(store: Store, foreign: asyncpg.Connection) -> None:
    """Nothing of the call was written; once the foreign transaction is rolled back, the key is free."""
    template = await enqueue_one(store)
    await hold_key(foreign, "held")
    with pytest.raises(StoreBusy):
        await store.enqueue([NewJob(definition="mail"), NewJob(definition="mail", key="held")])
    assert [one.lease.job for one in await claim(store)] == [template]

    await foreign.execute("ROLLBACK")
    [answer] = await store.enqueue([NewJob(definition="mail", key="held")])
    assert answer.fresh
    assert [one.lease.job for one in await claim(store)] == [answer.id]


async def test_a_data_error_fails_only_its_own_call(store: Store) -> None:
    """PostgreSQL cannot store a NUL in a text; only the call that sends one fails."""
    spoilt = NewJob(definition="mail", params=Document('{"a":"\x00"}'))
    jobs = [NewJob(definition="mail") for _ in range(8)]
    jobs.insert(4, spoilt)

    answers = await asyncio.gather(*(store.enqueue([job]) for job in jobs), return_exceptions=True)

    assert isinstance(answers.pop(4), TenureError)
    for answer in answers:
        assert not isinstance(answer, BaseException), answer
    assert len(await claim(store)) == 8


async def test_an_outage_fails_every_call_with_an_error_of_its_own(
    backend: PostgresBackend, foreign: asyncpg.Connection
) -> None:
    """Both the call in flight, which may have been written, and those that wait for the next statement."""
    relay = Relay(backend.dsn)
    store = PostgresStore(await relay.open())
    await store.open()
    await enqueue_one(store)
    await foreign.execute("LOCK TABLE tenure.job IN SHARE MODE")
    calls = [asyncio.create_task(store.enqueue([NewJob(definition="mail")])) for _ in range(6)]
    await until_waiting(backend, 1)

    await relay.cut()
    async with asyncio.timeout(PATIENCE):
        outages = await asyncio.gather(*calls, return_exceptions=True)

    assert len({id(outage) for outage in outages}) == 6
    for outage in outages:
        assert isinstance(outage, StoreUnavailable)
    assert any(isinstance(outage, StoreUnavailable) and outage.unknown for outage in outages)
    await store.close()


async def claim_if_there(store: Store) -> list[Claimed]:
    try:
        return await claim(store)
    except StoreUnavailable:
        return []


async def test_the_store_goes_on_after_an_outage(store: Store, backend: PostgresBackend) -> None:
    """S0.5: connections that the server ended are replaced; what was recorded before is still there.

    Now and then a dead connection is noticed only when it is used; that is an outage like any other, never an
    error of the driver. It depends on what arrives first, hence the repetition.
    """
    for _ in range(25):
        job = await enqueue_one(store)
        await backend.sql("""
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()""")

        claimed = await until(lambda: claim_if_there(store))
        assert [one.lease.job for one in claimed] == [job]
        assert (await settle(store, [succeeded(one) for one in claimed])).lost == []


async def test_a_value_that_cannot_be_written_fails_only_its_own_call(store: Store) -> None:
    """Any error of one call fails no other call of its statement."""
    jobs = [NewJob(definition="mail", key=f"key-{n}") for n in range(8)]
    jobs[3] = NewJob(definition="mail", key="key-3", params=Document("not JSON"))
    answers = await asyncio.gather(*(store.enqueue([job]) for job in jobs), return_exceptions=True)
    assert [index for index, answer in enumerate(answers) if isinstance(answer, BaseException)] == [3]


async def test_callers_of_a_held_key_do_not_hold_up_the_others(
    store: Store, foreign: asyncpg.Connection, backend: PostgresBackend
) -> None:
    """However many callers want the key, another job is recorded before most of them are answered."""
    await enqueue_one(store)
    await hold_key(foreign, "held")
    calls: list[asyncio.Task[UUID]] = []
    for lane in (1, 2):
        calls += [asyncio.create_task(enqueue_one(store, key="held")) for _ in range(10)]
        await until_waiting(backend, lane)
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)

    await enqueue_one(store)

    assert sum(task.done() for task in calls) < 15
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, StoreBusy) for answer in answers)


async def test_a_line_that_another_transaction_is_opening_is_not_waited_for(
    store: Store, foreign: asyncpg.Connection
) -> None:
    await foreign.execute("INSERT INTO tenure.line (queue, definition, version) VALUES ('default', 'new', 1)")
    with pytest.raises(StoreBusy):
        await enqueue_one(store, "new")
    await foreign.execute("ROLLBACK")
    await enqueue_one(store, "new")
