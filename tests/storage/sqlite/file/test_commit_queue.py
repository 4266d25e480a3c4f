"""The order of large and small writes: no heartbeat waits for more than one large write."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest

from tenure.core.errors import StoreRefused
from tenure.core.model.job import NewJob
from tenure.core.values.documents import Document
from tenure.storage.sqlite.file import write_lock
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.commit_queue import MOST_ROWS
from tenure.storage.sqlite.file.connection import Opening
from tenure.storage.sqlite.file.write_lock import WriteLock
from tenure.storage.sqlite.file.writer import Writer
from tenure.storage.sqlite.store import SqliteStore
from tenure.storage.sqlite.verbs.creation import FEW
from tests.until import until_sync

LARGE = MOST_ROWS + 1


class Recording:
    """A writer, the order in which its tasks were done, and the commit that each was in."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.done: list[tuple[str, int]] = []

    async def note(self, name: str, *, rows: int = 1, is_urgent: bool = False) -> None:
        def write(connection: apsw.Connection, turn: TransactionTime) -> None:
            connection.execute("INSERT INTO note VALUES (?)", (name,))
            self.done.append((name, turn.mark))

        await self._writer.run(write, rows=rows, is_urgent=is_urgent)

    @property
    def groups(self) -> list[list[str]]:
        """The names, commit by commit."""
        marks = dict.fromkeys(mark for _, mark in self.done)
        return [[name for name, own in self.done if own == mark] for mark in marks]


@pytest.fixture
async def recording(tmp_path: Path) -> AsyncIterator[Recording]:
    writer = Writer(tmp_path / "tenure.db", Opening(patience=60))
    await writer.open()
    made = "CREATE TABLE note (name); CREATE TABLE tenure_sequence (name, n)"
    counted = "INSERT INTO tenure_sequence VALUES ('clock', 0), ('mark', 0)"
    await writer.run(lambda connection, _: connection.execute(f"{made}; {counted}"))
    yield Recording(writer)
    await writer.close()


@asynccontextmanager
async def busy(recording: Recording) -> AsyncIterator[asyncio.TaskGroup]:
    """The writer is busy until the block ends; then all is done that was begun in it."""
    began, go = threading.Event(), threading.Event()

    def hold(_connection: apsw.Connection, _turn: TransactionTime) -> None:
        began.set()
        go.wait()

    holding = asyncio.create_task(recording._writer.run(hold))
    await asyncio.to_thread(began.wait)
    async with asyncio.TaskGroup() as tasks:
        yield tasks
        await asyncio.sleep(0)  # what was begun in the block is handed in
        go.set()
    await holding


async def test_what_was_urgent_when_the_writer_was_closed_is_done_all_the_same(recording: Recording) -> None:
    """As all else that was handed in: no caller waits in vain until its timeout."""
    async with busy(recording) as tasks:
        tasks.create_task(recording.note("beat", is_urgent=True))
        await asyncio.sleep(0)
        tasks.create_task(recording._writer.close())
    assert recording.groups[-1] == ["beat"]


async def test_what_is_urgent_goes_before_all_that_came_earlier(recording: Recording) -> None:
    """S1.58: a heartbeat does not wait for what its process has in line."""
    async with busy(recording) as tasks:
        for name in ("a", "b"):
            tasks.create_task(recording.note(name, rows=MOST_ROWS))
        tasks.create_task(recording.note("large", rows=LARGE))
        tasks.create_task(recording.note("beat", rows=LARGE, is_urgent=True))
    assert recording.groups == [["beat", "a"], ["large"], ["b"]]


async def test_a_large_task_goes_alone_and_small_ones_together(recording: Recording) -> None:
    """A group writes one large task, or few enough rows."""
    async with busy(recording) as tasks:
        for n in range(3):
            tasks.create_task(recording.note(f"large {n}", rows=LARGE))
            tasks.create_task(recording.note(f"small {n}", rows=MOST_ROWS // 2))
    large = [group for group in recording.groups if "large" in group[0]]
    assert large == [["large 0"], ["large 1"], ["large 2"]]
    assert [group for group in recording.groups if "small" in group[0]] == [
        ["small 0", "small 1"],
        ["small 2"],
    ]


async def test_one_process_at_a_time_writes_much_and_what_is_small_goes_on(
    recording: Recording, tmp_path: Path
) -> None:
    """A large write waits for that of another process; nothing else does."""
    other = WriteLock(tmp_path / "tenure.db")
    assert other.admits_large()
    large = asyncio.create_task(recording.note("large", rows=LARGE))
    await recording.note("small")
    await recording.note("beat", is_urgent=True)
    assert not large.done()
    other.rest()  # the queue is empty: at once
    assert not other.is_resting
    await large
    other.close()
    assert recording.groups == [["small"], ["beat"], ["large"]]


async def test_who_has_written_much_lets_those_pass_who_wait(tmp_path: Path) -> None:
    ours, theirs, third = (WriteLock(tmp_path / "tenure.db") for _ in range(3))
    passed = threading.Event()

    def wait() -> None:
        with theirs.turn():
            passed.set()

    assert ours.admits_large()
    with ours.turn():
        waiter = threading.Thread(target=wait)
        waiter.start()
        await asyncio.to_thread(_until_queued, ours)
        assert not third.admits_large()
        assert not passed.is_set()
    ours.rest()
    await asyncio.to_thread(waiter.join)
    assert passed.is_set()
    ours.look()
    assert not ours.is_resting
    assert third.admits_large()
    for one in (ours, theirs, third):
        one.close()


async def test_a_writer_that_has_written_much_lets_others_do_so(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1.58: at once if no process waits, though it has nothing else to do."""
    monkeypatch.setattr(write_lock, "LONGEST_WAIT", math.inf)
    await recording.note("large", rows=LARGE)
    other = WriteLock(tmp_path / "tenure.db")
    assert await asyncio.to_thread(_is_let_in, other)
    other.close()


async def test_nobody_waits_for_ever_for_who_is_frozen_while_it_writes_much(
    tmp_path: Path, recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is an economy: SQLite's own lock keeps the data right."""
    monkeypatch.setattr(write_lock, "LONGEST_WAIT", 0.02)
    frozen = WriteLock(tmp_path / "tenure.db")
    assert frozen.admits_large()
    await recording.note("large", rows=LARGE)
    frozen.close()


async def test_what_cannot_be_written_is_refused_without_a_wait_for_the_file(tmp_path: Path) -> None:
    """Rows are made before the lock is asked for: to make many takes as long as others would have to wait."""
    store = SqliteStore(tmp_path / "tenure.db", timeout=60)
    await store.open()
    await store.migrate()
    await store.enqueue([NewJob(definition="first")])
    other = apsw.Connection(str(tmp_path / "tenure.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreRefused):
        await store.enqueue([NewJob(definition="odd", key="k", params=Document("no JSON"))] * (FEW + 1))
    other.execute("ROLLBACK")
    other.close()
    await store.close()


def _until_queued(own: WriteLock) -> None:
    until_sync(lambda: write_lock._is_locked(own._file, write_lock._IN_QUEUE))


def _is_let_in(other: WriteLock) -> bool:
    return until_sync(other.admits_large)
