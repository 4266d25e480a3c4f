"""A file that is copied as it lies: right when nobody has it open, and wrong while somebody has."""

import shutil
from pathlib import Path

import pytest

from tenure.core.model.states import State
from tests.storage.restores.backups import ShellBackup, opened
from tests.storage.verbs import enqueue_one, job_in, state_of


async def test_a_copy_of_a_file_that_nobody_has_open_is_whole(tmp_path: Path) -> None:
    """The last to close it leaves everything in the one file."""
    backup = ShellBackup(tmp_path)
    store = await opened(await backup.prepare())
    job = await job_in(store, State.SUCCEEDED)
    await store.close()
    assert not (tmp_path / "jobs.db-wal").exists()
    copied = await opened(await backup.restore(tmp_path / "jobs.db"))
    assert await state_of(copied, job) is State.SUCCEEDED
    assert await copied.inspect() == []
    await copied.close()


@pytest.mark.parametrize("is_right", [False, True])
async def test_a_copy_of_a_file_in_use_misses_what_is_not_in_it_yet(tmp_path: Path, is_right: bool) -> None:
    """Why the docs say `.backup`: what was acknowledged is in a second file."""
    backup = ShellBackup(tmp_path)
    store = await opened(await backup.prepare())
    job = await enqueue_one(store)
    if is_right:
        await backup.take(tmp_path / "copy")
    else:
        shutil.copyfile(tmp_path / "jobs.db", tmp_path / "copy")
    await store.close()
    copied = await opened(await backup.restore(tmp_path / "copy"))
    assert (await copied.get(job) is not None) is is_right
    await copied.close()
