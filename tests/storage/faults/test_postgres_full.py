"""A full disk under PostgreSQL: only stored jobs are acknowledged, and with room again the store recovers."""

import asyncio
import os
from uuid import UUID, uuid4

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values.documents import Document
from tenure.storage.postgres.store import PostgresStore
from tests.storage.faults.conftest import Opener, migrate
from tests.storage.faults.outages import BOUND, recovered
from tests.storage.faults.own_server import OwnServer
from tests.storage.faults.small_disk import filled, open_folder, small_disk
from tests.storage.faults.test_postgres_restart import jobs_in
from tests.storage.verbs import claim, enqueue_one, settle, succeeded

SEGMENTS = "--wal-segsize=1"
LIMITS: dict[str, object] = {"min_wal_size": "2MB", "max_wal_size": "4MB"}
NEVER_TIDIED: dict[str, object] = {"min_wal_size": "2MB", "max_wal_size": "64MB"}
"""A checkpoint would give the log room again: by its size none is due before a disk of 24 MB is full."""


async def prepared(server: OwnServer, opened: Opener) -> PostgresStore:
    """A store on a new database of the server."""
    await migrate(dsn := server.create_database("full"))
    return await opened(dsn, timeout=BOUND)


async def enqueue_until_refused(store: PostgresStore) -> tuple[set[UUID], UUID, StoreUnavailable]:
    """Enqueue large jobs until one is refused: those acknowledged, that one, and the error."""
    recorded: set[UUID] = set()
    async with asyncio.timeout(BOUND):
        while True:
            params = Document(f'{{"noise":"{os.urandom(100_000).hex()}"}}')
            new_job = NewJob(definition="mail", id=(job := uuid4()), params=params)
            try:
                await store.enqueue([new_job])
            except StoreUnavailable as end:
                return recorded, job, end
            recorded.add(job)


async def test_a_disk_too_full_for_the_tables(opened: Opener) -> None:
    """The server rolls the statement back and says so; given room, the same store goes on at once."""
    with small_disk(80) as disk, open_folder() as elsewhere:
        initdb = (SEGMENTS, f"--waldir={elsewhere}/log")
        with OwnServer(place=disk, initdb=initdb, settings=LIMITS) as server:
            store = await prepared(server, opened)
            before = await enqueue_one(store)
            [owned] = await claim(store)
            with filled(disk):
                recorded, refused, end = await enqueue_until_refused(store)
                assert not end.unknown
                assert "No space left" in str(end)
                assert (await jobs_in(store)).keys() == {before, *recorded}

            assert not (await store.enqueue([NewJob(definition="mail", id=before)]))[0].fresh
            assert (await store.enqueue([NewJob(definition="mail", id=refused)]))[0].fresh
            assert (await settle(store, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}
            await store.close()


async def test_a_disk_too_full_for_the_log(opened: Opener) -> None:
    """The server shuts down, so the outcome is unknown; restarted with room, it has what it acknowledged."""
    with (
        small_disk(24) as disk,
        OwnServer(initdb=(SEGMENTS, f"--waldir={disk}/log"), settings=NEVER_TIDIED) as server,
    ):
        store = await prepared(server, opened)
        before = await enqueue_one(store)
        [owned] = await claim(store)
        with filled(disk):
            recorded, refused, end = await enqueue_until_refused(store)
            assert end.unknown
        await asyncio.to_thread(server.stop_at_once)
        await asyncio.to_thread(server.start_again)

        await recovered(store)
        assert {before, *recorded} <= (await jobs_in(store)).keys()
        [again] = await store.enqueue([NewJob(definition="mail", id=refused)])
        assert again.id == refused
        assert (await settle(store, [succeeded(owned)])).accepted == {owned.lease: State.SUCCEEDED}
        await store.close()
