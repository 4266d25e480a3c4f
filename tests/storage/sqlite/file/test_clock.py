"""The store's time on SQLite: the machine's, except that it never runs back."""

from datetime import timedelta
from pathlib import Path

import apsw

from tenure.core.model.job import NewJob
from tenure.storage.sqlite.rows import micros
from tenure.storage.sqlite.store import SqliteStore


async def test_a_clock_that_was_set_back_makes_the_stores_time_stand_still(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    store = SqliteStore(path)
    await store.open()
    await store.migrate()
    ahead = await store.now() + timedelta(hours=1)
    # As if the machine's clock had been an hour ahead until a moment ago.
    with apsw.Connection(str(path)) as shell:
        shell.execute("UPDATE tenure_sequence SET n = ? WHERE name = 'clock'", (micros(ahead),))
    shell.close()

    assert await store.now() == ahead
    [enqueued] = await store.enqueue([NewJob(definition="mail", delay=timedelta(seconds=1))])
    job = await store.get(enqueued.id)
    assert job is not None
    assert (job.created_at, job.due_at) == (ahead, ahead + timedelta(seconds=1))
    assert await store.promote(10) == []
    await store.close()


async def test_the_latest_time_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    first = SqliteStore(path)
    await first.open()
    await first.migrate()
    [enqueued] = await first.enqueue([NewJob(definition="mail")])
    job = await first.get(enqueued.id)
    await first.close()

    shell = apsw.Connection(str(path))
    kept = shell.execute("SELECT n FROM tenure_sequence WHERE name = 'clock'").get
    shell.close()
    assert job is not None
    assert kept == micros(job.created_at)


async def test_looking_costs_no_write(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "tenure.db")
    await store.open()
    await store.migrate()
    wal = tmp_path / "tenure.db-wal"
    before = wal.stat().st_size
    for _ in range(5):
        assert await store.promote(10) == []
        assert await store.reap(10) == []
        await store.now()
    assert wal.stat().st_size == before
    await store.close()
