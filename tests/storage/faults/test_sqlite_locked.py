"""Another process locks the file: a clear error within the store's timeout, and the store goes on."""

import asyncio
from pathlib import Path

import pytest

from tenure.core.errors import StoreBusy
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults import damaged_files
from tests.storage.faults.sqlite_stores import held_by_another_process, ids_in, opened
from tests.storage.verbs import enqueue_one, state_of

TIMEOUT = 2.0
"""Of the stores under test, in seconds: short, since tests wait for it to pass, but long enough to open."""

LONG_AFTER_THE_TIMEOUT = 60


async def test_a_write_that_the_lock_keeps_waiting_is_withdrawn_and_the_next_one_done(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    async with opened(path, timeout=TIMEOUT) as store:
        with held_by_another_process(path):
            async with asyncio.timeout(LONG_AFTER_THE_TIMEOUT):
                with pytest.raises(StoreBusy, match=r"tenure\.db .*nothing was written"):
                    await enqueue_one(store)
        after = await enqueue_one(store)
        assert await state_of(store, after) == "queued"
    assert ids_in(path) == {str(after)}


async def test_all_who_wait_at_once_are_told(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    async with opened(path, timeout=TIMEOUT) as store:
        with held_by_another_process(path):
            answers = await asyncio.gather(*(enqueue_one(store) for _ in range(50)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {StoreBusy}
        await enqueue_one(store)
    assert len(ids_in(path)) == 1


async def test_reading_goes_on_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    async with opened(path, timeout=TIMEOUT) as store:
        job = await enqueue_one(store)
        with held_by_another_process(path):
            assert await state_of(store, job) == "queued"


async def test_opening_a_file_that_is_locked_ends_within_the_timeout(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    with held_by_another_process(path, "CREATE TABLE note (n); BEGIN EXCLUSIVE"):
        store = SqliteStore(path, timeout=TIMEOUT)
        async with asyncio.timeout(LONG_AFTER_THE_TIMEOUT):
            with pytest.raises(StoreBusy, match=r"tenure\.db .*another process"):
                await store.open()
    await store.open()
    await store.migrate()
    await store.close()


async def test_a_queue_file_that_was_deleted_costs_fairness_and_nothing_else(tmp_path: Path) -> None:
    """Earlier processes wait at one file, later ones at another, until they meet again."""
    path = tmp_path / "tenure.db"
    turn = damaged_files.beside(path, "-turn")
    async with opened(path) as before:
        damaged_files.delete(turn)
        async with opened(path) as after:
            stores = [before, after] * 50
            done = await asyncio.gather(*(enqueue_one(store) for store in stores))
    assert ids_in(path) == {str(job) for job in done}
    assert len(set(done)) == 100


async def test_whoever_finds_the_queue_file_gone_stands_at_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    turn = damaged_files.beside(path, "-turn")
    async with opened(path, timeout=TIMEOUT) as store:
        damaged_files.delete(turn)
        await enqueue_one(store)
        with damaged_files.locked(turn), pytest.raises(StoreBusy):
            await enqueue_one(store)


async def test_a_queue_file_that_cannot_be_made_again_keeps_nobody_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    turn = damaged_files.beside(path, "-turn")
    async with opened(path) as store:
        damaged_files.delete(turn)
        damaged_files.make_folder(turn)
        job = await enqueue_one(store)
        assert await state_of(store, job) == "queued"
