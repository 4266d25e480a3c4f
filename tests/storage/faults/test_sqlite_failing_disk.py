"""The disk is full or fails: nothing is acknowledged that is not kept, and the store recovers by itself."""

import asyncio
import threading
from collections.abc import Awaitable
from pathlib import Path
from uuid import UUID

import pytest

from tenure.core.errors import StoreBusy, StoreUnavailable
from tenure.core.values.documents import Document
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults.disks import small_disk
from tests.storage.faults.file_faults import io_error, meddled, stand_still_until
from tests.storage.faults.sqlite_stores import frequent_checkpoints, ids_in, make, opened
from tests.storage.verbs import claim, enqueue_one, settle, state_of, succeeded

LARGE = Document(f'"{"x" * 9000}"')
FAILURES = {
    "the log cannot be written": io_error("write", of="-wal"),
    "the log cannot be synced": io_error("sync", of="-wal"),
    "nothing can be read or written": io_error("read", "write", "sync"),
}


async def answer_of(call: Awaitable[UUID]) -> UUID | StoreUnavailable:
    """The answer of a call, or the error that the store is not available."""
    try:
        return await call
    except StoreUnavailable as error:
        return error


async def enqueued_until_refused(store: SqliteStore) -> tuple[list[UUID], StoreUnavailable]:
    """Enqueue until the store refuses: the acknowledged jobs, and the refusal."""
    jobs: list[UUID] = []
    while isinstance(answer := await answer_of(enqueue_one(store, params=LARGE)), UUID):
        jobs.append(answer)
        assert len(jobs) < 200
    return jobs, answer


@pytest.mark.parametrize("kind", ["mounted", "capped"])
async def test_a_full_disk_is_told_and_when_there_is_room_again_the_store_goes_on(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "tenure.db"
    with small_disk(tmp_path, kind) as disk:
        async with opened(path) as store:
            jobs = [await enqueue_one(store, params=LARGE) for _ in range(5)]
            await disk.fill(store)
            kept, refusal = await enqueued_until_refused(store)
            jobs += kept
            assert "nothing was written, make room" in str(refusal)
            assert str(path) in str(refusal)
            assert not refusal.unknown
            for job in jobs:
                assert await state_of(store, job) == "queued"
            await disk.make_room(store)
            jobs.append(await enqueue_one(store, params=LARGE))
            owned = await claim(store, limit=100)
            assert len((await settle(store, map(succeeded, owned))).accepted) == len(jobs)
        assert ids_in(path) == {str(job) for job in jobs}


@pytest.mark.parametrize("kind", ["mounted", "capped"])
async def test_all_who_share_a_commit_that_finds_no_room_are_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "tenure.db"
    with small_disk(tmp_path, kind) as disk:
        async with opened(path) as store:
            await disk.fill(store)
            calls = [enqueue_one(store, params=LARGE) for _ in range(150)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert StoreUnavailable in set(map(type, answers))
            kept = {str(job) for job in answers if not isinstance(job, StoreUnavailable)}
            await disk.make_room(store)
            assert len(await claim(store, limit=200)) == len(kept)
        assert ids_in(path) == kept


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failing_disk_is_told_and_when_it_works_again_the_store_goes_on(
    tmp_path: Path, failure: str
) -> None:
    path = tmp_path / "tenure.db"
    with meddled() as meddler:
        async with opened(path, vfs=meddler.name) as store:
            before = await enqueue_one(store)
            meddler.meddling = FAILURES[failure]
            calls = [enqueue_one(store, params=LARGE) for _ in range(20)]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert set(map(type, answers)) == {StoreUnavailable}
            assert all("tenure.db is not available" in str(error) for error in answers)
            meddler.meddling = None
            after = await enqueue_one(store)
            assert await state_of(store, after) == "queued"
        assert {str(before), str(after)} <= ids_in(path)


async def test_a_commit_whose_sync_failed_may_have_happened(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    with meddled() as meddler:
        async with opened(path, vfs=meddler.name) as store:
            meddler.meddling = io_error("sync", of="-wal")
            with pytest.raises(StoreUnavailable) as raised:
                await enqueue_one(store)
            assert raised.value.unknown
            meddler.meddling = None


async def test_a_database_that_cannot_take_up_its_log_loses_nothing(tmp_path: Path) -> None:
    """Commits go into the log; its checkpoint fails, and is done when the disk works again."""
    path = tmp_path / "tenure.db"
    with meddled() as meddler, frequent_checkpoints(pages=10):
        async with opened(path, vfs=meddler.name) as store:
            meddler.meddling = io_error("write", "sync", of=".db")
            answers = [await answer_of(enqueue_one(store, params=LARGE, key=f"{n}")) for n in range(20)]
            # SQLite ignores this error itself; the meddler does not, and then the outcome is unknown.
            assert all(isinstance(answer, UUID) or answer.unknown for answer in answers)
            meddler.meddling = None
            jobs = [await enqueue_one(store, params=LARGE, key=f"{n}") for n in range(40)]
            assert {answer for answer in answers if isinstance(answer, UUID)} <= set(jobs)
        assert ids_in(path) == {str(job) for job in jobs}


async def test_closing_on_a_failing_disk_ends_and_leaves_the_rest_to_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    with meddled() as meddler:
        async with opened(path, vfs=meddler.name) as store:
            job = await enqueue_one(store)
            meddler.meddling = io_error("write", "sync", of=".db")
    assert ids_in(path) == {str(job)}


async def test_a_disk_that_does_not_answer_holds_up_opening_no_longer_than_the_timeout(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tenure.db"
    [job] = await make(path, jobs=1)
    answers = threading.Event()
    with meddled() as meddler:
        meddler.meddling = stand_still_until(answers)
        store = SqliteStore(path, timeout=0.1, vfs=meddler.name)
        with pytest.raises(StoreBusy, match=r"tenure\.db could not be opened within 0\.1 s.*does not answer"):
            await store.open()
        answers.set()
    async with opened(path) as store:
        assert await state_of(store, UUID(job)) == "queued"


async def test_a_connection_lost_in_the_middle_of_a_commit_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        before = await enqueue_one(store)
        assert await state_of(store, before) == "queued"
        lost = store._writer.run(lambda connection, _: connection.close(True))
        answers = await asyncio.gather(lost, enqueue_one(store), enqueue_one(store), return_exceptions=True)
        assert set(map(type, answers)) == {StoreUnavailable}
        after = await enqueue_one(store)
        assert await state_of(store, after) == "queued"
    assert ids_in(path) == {str(before), str(after)}
