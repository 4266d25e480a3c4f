"""The file or its folder is not writable: an immediate error names it, and the store works once it is."""

from pathlib import Path

import pytest

from tenure.core.errors import StoreUnavailable
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults import damaged_files
from tests.storage.faults.disks import mode, rights_that_count
from tests.storage.faults.sqlite_stores import ids_in, make, opened
from tests.storage.verbs import enqueue_one, state_of


@pytest.mark.parametrize("bits", [0o444, 0o000], ids=["read-only", "no rights at all"])
async def test_a_file_that_may_not_be_written_is_refused_when_it_is_opened(tmp_path: Path, bits: int) -> None:
    path = tmp_path / "tenure.db"
    jobs = await make(path, jobs=1)
    store = SqliteStore(path)
    with rights_that_count():
        with (
            mode(path, bits),
            pytest.raises(StoreUnavailable, match=r"tenure\.db cannot be (written|opened): .*writable"),
        ):
            await store.open()
        await store.open()
        jobs.append(str(await enqueue_one(store)))
        await store.close()
    assert ids_in(path) == set(jobs)


@pytest.mark.parametrize("jobs", [0, 1], ids=["a new file", "a file with jobs"])
async def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path, jobs: int) -> None:
    path = tmp_path / "tenure.db"
    there = set(await make(path, jobs) if jobs else [])
    store = SqliteStore(path)
    with (
        rights_that_count(),
        mode(tmp_path, 0o555),
        pytest.raises(StoreUnavailable, match=r"tenure\.db cannot be (written|opened): .*folder.*writable"),
    ):
        await store.open()
    async with opened(path) as store:
        there.add(str(await enqueue_one(store)))
    assert ids_in(path) == there


async def test_rights_taken_away_while_the_file_is_open_lose_nothing(tmp_path: Path) -> None:
    """What is open stays open: the store goes on, and closing leaves the log for the next one."""
    path = tmp_path / "tenure.db"
    with rights_that_count():
        store = SqliteStore(path)
        await store.open()
        await store.migrate()
        before = await enqueue_one(store)
        with mode(path, 0o444), mode(tmp_path, 0o555):
            after = await enqueue_one(store)
            assert await state_of(store, after) == "queued"
            await store.close()
        assert ids_in(path) == {str(before), str(after)}


async def test_a_queue_file_that_may_not_be_opened_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    await make(path)
    store = SqliteStore(path)
    with (
        rights_that_count(),
        mode(Path(f"{path}-turn"), 0o000),
        pytest.raises(StoreUnavailable, match=r"tenure\.db-turn cannot be opened: Permission denied"),
    ):
        await store.open()
    await store.open()
    await store.close()


async def test_a_closed_store_leaves_one_file_with_everything_in_it(tmp_path: Path) -> None:
    """A copy of the file then has everything."""
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        job = await enqueue_one(store)
        assert await state_of(store, job) == "queued"
    assert damaged_files.names_in(tmp_path) == {"tenure.db", "tenure.db-turn"}
    assert ids_in(path) == {str(job)}
