"""The file is deleted, moved or replaced under the store: nothing is acknowledged that is lost."""

from pathlib import Path

import apsw
import pytest

from tenure.core.errors import StoreUnavailable
from tenure.core.model.job import NewJob
from tests.storage.faults import damaged_files
from tests.storage.faults.file_faults import meddled
from tests.storage.faults.sqlite_stores import ids_in, make, opened
from tests.storage.verbs import claim, enqueue_one, settle, state_of, succeeded


def _database_of_somebody_else() -> bytes:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE tenure_migration (number); CREATE TABLE letter (to_whom)")
    return connection.serialize("main")


STRANGERS = {
    "an empty file": b"",
    "no database": b"a letter to a friend, " * 500,
    "a database of somebody else": _database_of_somebody_else(),
}


async def test_a_deleted_file_is_not_written_to_and_not_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        job = await enqueue_one(store)
        damaged_files.delete(path)
        for verb in (enqueue_one(store), claim(store), store.now(), store.get(job), store.verify()):
            with pytest.raises(
                StoreUnavailable, match=r"tenure\.db was moved or deleted.*put it back"
            ) as raised:
                await verb
            assert not raised.value.unknown
        assert damaged_files.names_in(tmp_path) == {"tenure.db-wal", "tenure.db-shm", "tenure.db-turn"}


async def test_a_file_that_is_moved_and_moved_back_is_written_to_again(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "tenure.db", tmp_path / "elsewhere.db"
    async with opened(path) as store:
        before = await enqueue_one(store)
        damaged_files.move(path, elsewhere)
        with pytest.raises(StoreUnavailable, match="nothing was written"):
            await enqueue_one(store)
        damaged_files.move(elsewhere, path)
        after = await enqueue_one(store)
        assert await state_of(store, after) == "queued"
    assert ids_in(path) == {str(before), str(after)}


async def test_a_write_during_which_the_file_was_moved_is_not_acknowledged(tmp_path: Path) -> None:
    """It may have happened or not: the file may come back, as it does here."""
    path, elsewhere = tmp_path / "tenure.db", tmp_path / "elsewhere.db"
    with meddled() as meddler:
        async with opened(path, vfs=meddler.name) as store:

            def move_it_away(kind: str, ending: str) -> None:
                if (kind, ending) == ("sync", "-wal"):
                    meddler.meddling = None
                    damaged_files.move(path, elsewhere)

            meddler.meddling = move_it_away
            with pytest.raises(
                StoreUnavailable, match="moved or deleted while in use: put it back"
            ) as raised:
                await enqueue_one(store, key="once")
            assert raised.value.unknown
            damaged_files.move(elsewhere, path)
            [asked_again] = await store.enqueue([NewJob(definition="mail", key="once")])
            assert not asked_again.fresh
        assert ids_in(path) == {str(asked_again.id)}


async def test_a_restored_database_is_taken_up_by_itself(tmp_path: Path) -> None:
    path, backup = tmp_path / "tenure.db", tmp_path / "backup.db"
    await make(path, jobs=3)
    damaged_files.copy(path, backup)
    async with opened(path) as store:
        later = await enqueue_one(store, key="later")
        assert await state_of(store, later) == "queued"
        damaged_files.delete(path, damaged_files.beside(path, "-wal"), damaged_files.beside(path, "-shm"))
        with pytest.raises(StoreUnavailable):
            await enqueue_one(store)
        damaged_files.move(backup, path)
        assert await store.get(later) is None
        owned = await claim(store)
        assert len(owned) == 3
        assert len((await settle(store, map(succeeded, owned))).accepted) == 3
        new = await enqueue_one(store)
        assert await state_of(store, new) == "queued"
    assert str(new) in ids_in(path)


async def test_a_copy_beside_the_old_log_is_left_to_humans(tmp_path: Path) -> None:
    """SQLite would apply the old file's log to the new one; and the log holds what the copy lacks."""
    path, backup = tmp_path / "tenure.db", tmp_path / "backup.db"
    await make(path, jobs=1)
    damaged_files.copy(path, backup)
    async with opened(path) as store:
        job = await enqueue_one(store, key="in the log")
        damaged_files.move(backup, path)
        for verb in (enqueue_one(store), store.get(job)):
            with pytest.raises(StoreUnavailable, match=r"replaced while in use.*without its -wal and -shm"):
                await verb
        damaged_files.delete(damaged_files.beside(path, "-wal"), damaged_files.beside(path, "-shm"))
        after = await enqueue_one(store)
    assert str(after) in ids_in(path)


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
async def test_a_stranger_in_the_place_of_the_database_is_refused_and_left_alone(
    tmp_path: Path, stranger: bytes
) -> None:
    path = tmp_path / "tenure.db"
    await make(path, jobs=2)
    content = path.read_bytes()
    async with opened(path) as store:
        damaged_files.delete(damaged_files.beside(path, "-wal"), damaged_files.beside(path, "-shm"))
        damaged_files.replace(path, stranger)
        for _ in range(2):
            with pytest.raises(
                StoreUnavailable, match=r"replaced .* by what is not a current tenure database"
            ):
                await enqueue_one(store)
        assert path.read_bytes() == stranger
        damaged_files.replace(path, content)
        after = await enqueue_one(store)
    assert len(ids_in(path)) == 3
    assert str(after) in ids_in(path)


async def test_an_emptied_file_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        job = await enqueue_one(store)
        damaged_files.empty(path)
        for verb in (enqueue_one(store), store.get(job)):
            with pytest.raises(StoreUnavailable, match=r"tenure\.db was emptied while in use"):
                await verb


async def test_a_deleted_log_takes_nothing_with_it(tmp_path: Path) -> None:
    """Acknowledged work is checkpointed into the database at once; to go on, the file is opened again."""
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        jobs = {str(await enqueue_one(store)) for _ in range(20)}
        damaged_files.delete(damaged_files.beside(path, "-wal"))
        with pytest.raises(StoreUnavailable, match=r"tenure\.db-wal was moved, deleted or replaced"):
            await enqueue_one(store)
        assert ids_in(damaged_files.copy(path, tmp_path / "as a crash would leave it.db")) == jobs
        with pytest.raises(StoreUnavailable):
            await enqueue_one(store)
        await store.close()
        await store.open()
        jobs.add(str(await enqueue_one(store)))
    assert ids_in(path) == jobs


async def test_without_its_shared_memory_nothing_is_written(tmp_path: Path) -> None:
    """A process that opens the file now takes other locks than ours."""
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        job = await enqueue_one(store)
        damaged_files.delete(damaged_files.beside(path, "-shm"))
        async with opened(path) as other:
            with pytest.raises(StoreUnavailable, match=r"tenure\.db-shm was moved, deleted or replaced"):
                await enqueue_one(store)
            assert await state_of(other, job) == "queued"
        await store.close()
        await store.open()
        after = await enqueue_one(store)
    assert ids_in(path) == {str(job), str(after)}
