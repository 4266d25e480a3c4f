"""News of a file comes by the kernel's word that its log is written to, and without it as well."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from tenure.storage.sqlite.file.connection import open_writer
from tenure.storage.sqlite.file.log_writes import LogWrites
from tenure.storage.sqlite.file.look_pace import LookPace
from tenure.storage.sqlite.file.wakeups import CommitCounter, FileWatch
from tests.storage.verbs import PATIENCE
from tests.until import until

CHECKS = {
    "listen.commits": "PRAGMA data_version",
    "listen.arrivals": "SELECT count(*) FROM note",
    "listen.stops": "SELECT 0",
}
SOON = 0.05


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tenure.db"


@pytest.fixture
def writer(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a file with one table."""
    connection = open_writer(path)
    connection.execute("CREATE TABLE note (n INTEGER)")
    yield connection
    connection.close()


@contextmanager
def armed(path: Path) -> Iterator[LogWrites]:
    """A watch on what is written from now on."""
    writes = LogWrites(path)
    try:
        assert writes.arm()
        yield writes
    finally:
        writes.close()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each look at a file."""
    found, look = [0], CommitCounter.changes

    def counted(counter: CommitCounter) -> set[str]:
        found[0] += 1
        return look(counter)

    monkeypatch.setattr(CommitCounter, "changes", counted)
    return found


async def test_where_nothing_is_written_nobody_looks(
    path: Path, writer: apsw.Connection, looks: list[int]
) -> None:
    """Without the kernel's word there would be a look every 20 ms. A commit still comes at once."""

    async def are_over() -> bool:
        before = looks[0]
        await listener.wait(10 * SOON)
        return looks[0] <= before + 1

    async with FileWatch(path, CHECKS).listen(everything=True, stops=False) as listener:
        await until(are_over)
        writer.execute("INSERT INTO note VALUES (1)")
        assert await listener.wait(PATIENCE)


def test_the_kernel_tells_of_a_commit_also_behind_a_link(path: Path, writer: apsw.Connection) -> None:
    """SQLite follows links: the log lies beside the file itself."""
    link = path.with_name("link.db")
    link.symlink_to(path)
    with armed(link) as writes:
        assert not writes.take()
        writer.execute("INSERT INTO note VALUES (1)")
        assert writes.take()
        assert not writes.take()


def test_a_log_that_is_made_anew_is_watched_again(path: Path, writer: apsw.Connection) -> None:
    """Its end is told, too: it is deleted while this test has it open."""
    with armed(path) as writes:
        log = path.with_name("tenure.db-wal")
        log.unlink()
        assert writes.take()
        log.write_bytes(b"")
        writes.take()
        log.write_bytes(b"new")
        assert not writes.take()
        assert writes.arm()
        log.write_bytes(b"newer")
        assert writes.take()


async def test_without_a_log_the_pace_is_a_poll_until_there_is_one(path: Path) -> None:
    pace = LookPace(path, look_every=SOON)
    try:
        async with asyncio.timeout(PATIENCE):
            assert not pace.is_armed
            await pace.pause()
            assert not pace.is_armed
            path.with_name("tenure.db-wal").write_bytes(b"")
            while not pace.is_armed:
                await pace.pause()
    finally:
        pace.close()


async def test_a_kernel_that_says_nothing_is_not_relied_upon_for_long(path: Path) -> None:
    """Looks find news that it has not announced, as on a file system where other machines write."""
    path.with_name("tenure.db-wal").write_bytes(b"")
    pace = LookPace(path, look_every=SOON)
    unannounced = 0
    try:
        async with asyncio.timeout(PATIENCE):
            while pace.is_armed:
                await pace.pause()
                unannounced += pace.is_silent
                pace.found(news=pace.is_silent)
        assert unannounced > 1, "once may be chance"
        await pace.pause()
        assert not pace.is_armed
    finally:
        pace.close()


def test_a_system_without_inotify_watches_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    writes = LogWrites(path)
    assert not writes.arm()
    assert not writes.take()
    writes.close()
