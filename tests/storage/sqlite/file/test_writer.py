"""The one writer: tasks that come while it is busy share a commit, and one that fails harms no other."""

import asyncio
import fcntl
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from tenure.core.errors import StoreBusy, StoreRefused, StoreUnavailable
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.connection import Opening
from tenure.storage.sqlite.file.writer import Writer

ADD = "INSERT INTO note VALUES (?)"


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    made = Writer(tmp_path / "tenure.db", Opening(patience=60))
    await made.open()
    await run(made, "CREATE TABLE note (n INTEGER PRIMARY KEY)")
    yield made
    await made.close()


async def run(writer: Writer, text: str, *values: int) -> list[tuple[Any, ...]]:
    return await writer.run(lambda connection, _: connection.execute(text, values).fetchall())


async def add(writer: Writer, number: int) -> None:
    await run(writer, ADD, number)


async def notes(writer: Writer) -> list[int]:
    return [n for (n,) in await run(writer, "SELECT n FROM note")]


async def held_up(writer: Writer, commits: list[None]) -> tuple[threading.Event, "asyncio.Task[None]"]:
    """Keep the writer busy until the event is set; count its commits from then on."""
    began, go = threading.Event(), threading.Event()

    def count() -> bool:
        commits.append(None)
        return False

    def hold(connection: apsw.Connection, _now: TransactionTime) -> None:
        connection.set_commit_hook(count)
        began.set()
        go.wait()

    task = asyncio.create_task(writer.run(hold))
    await asyncio.to_thread(began.wait)
    return go, task


@contextmanager
def held_by_another(path: Path) -> Iterator[None]:
    """As long as another process is at its turn, and does not come to an end with it."""
    with Path(f"{path}-turn").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


async def test_what_gathers_while_the_writer_is_busy_shares_one_commit(writer: Writer) -> None:
    """S3.31: one thread writes for the whole process, so that its callers do not contend for the file."""
    commits: list[None] = []
    go, holding = await held_up(writer, commits)
    adding = [asyncio.create_task(add(writer, number)) for number in range(50)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(holding, *adding)
    assert len(commits) <= 2  # the one under way, and the one all fifty share
    assert await notes(writer) == list(range(50))


async def test_a_write_that_fails_takes_back_its_own_changes_only(writer: Writer) -> None:
    def twice(connection: apsw.Connection, _now: TransactionTime) -> None:
        connection.execute(ADD, (1,))
        connection.execute(ADD, (1,))

    go, holding = await held_up(writer, [])
    tasks = [asyncio.create_task(step) for step in (add(writer, 0), writer.run(twice), add(writer, 2))]
    await asyncio.sleep(0)
    go.set()
    await holding
    first, failed, last = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first, last) == (None, None)
    assert isinstance(failed, StoreRefused)
    assert await notes(writer) == [0, 2]


async def test_when_the_commit_fails_everybody_is_told_and_nothing_is_kept(writer: Writer) -> None:
    go, holding = await held_up(writer, [])

    def spoil(connection: apsw.Connection, _now: TransactionTime) -> None:
        connection.set_commit_hook(lambda: True)  # SQLite turns this commit into a rollback

    tasks = [asyncio.create_task(step) for step in (add(writer, 1), add(writer, 2), writer.run(spoil))]
    await asyncio.sleep(0)
    go.set()
    await holding
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(error, StoreRefused | StoreUnavailable) for error in errors)
    assert len({id(error) for error in errors}) == len(tasks)

    await writer.run(lambda connection, _: connection.set_commit_hook(None))
    assert await notes(writer) == []


async def test_a_writer_whose_file_cannot_be_opened_says_so_and_can_try_again(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "missing" / "tenure.db", Opening(patience=60))
    with pytest.raises(StoreUnavailable, match="missing"):
        await writer.open()
    (tmp_path / "missing").mkdir()
    await writer.open()
    await writer.close()


async def test_writing_through_a_closed_writer_is_refused(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "tenure.db", Opening(patience=60))
    await writer.open()
    await writer.close()
    with pytest.raises(StoreUnavailable, match="not open"):
        await add(writer, 1)


async def test_opening_twice_at_once_makes_one_writer(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "tenure.db", Opening(patience=60))
    before = _writers()
    await asyncio.gather(writer.open(), writer.open())
    assert _writers() == before + 1
    await writer.close()
    assert _writers() == before


def _writers() -> int:
    """How many writers there are; an app of another test may still have one."""
    return [thread.name for thread in threading.enumerate()].count("tenure-writer")


async def test_an_opening_that_is_called_off_leaves_nothing_behind(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "tenure.db", Opening(patience=60))
    opening = asyncio.create_task(writer.open())
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)
    await writer.open()
    await run(writer, "CREATE TABLE note (n INTEGER PRIMARY KEY)")
    await add(writer, 1)
    assert await notes(writer) == [1]
    await writer.close()


async def test_a_write_that_waits_too_long_for_another_process_is_withdrawn(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    writer = Writer(path, Opening(patience=0.2))
    await writer.open()
    await run(writer, "CREATE TABLE note (n INTEGER PRIMARY KEY)")
    with held_by_another(path), pytest.raises(StoreBusy, match="nothing was written"):
        await add(writer, 1)
    assert await notes(writer) == []
    await add(writer, 2)
    assert await notes(writer) == [2]
    await writer.close()


async def test_a_write_that_was_called_off_before_it_began_is_not_done(writer: Writer) -> None:
    go, holding = await held_up(writer, [])
    adding = asyncio.create_task(add(writer, 1))
    await asyncio.sleep(0)
    adding.cancel()
    await asyncio.gather(adding, return_exceptions=True)
    go.set()
    await holding
    assert await notes(writer) == []


async def test_closing_a_writer_that_another_process_holds_up_ends(tmp_path: Path) -> None:
    path = tmp_path / "tenure.db"
    writer = Writer(path, Opening(patience=0.1))
    await writer.open()
    with held_by_another(path):
        with pytest.raises(StoreBusy):
            await run(writer, "SELECT 1")
        with pytest.raises(StoreBusy, match="could not be closed"):
            await writer.close()


async def test_a_transaction_that_cannot_be_ended_is_taken_back(writer: Writer) -> None:
    """A deferred rule that is broken fails the commit and leaves the transaction open."""
    await run(writer, "CREATE TABLE reply (n INTEGER REFERENCES note DEFERRABLE INITIALLY DEFERRED)")

    def reply_to_nothing(connection: apsw.Connection, _now: TransactionTime) -> None:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 1)
        connection.execute("INSERT INTO reply VALUES (7)")

    with pytest.raises(StoreRefused):
        await writer.run(reply_to_nothing)
    await add(writer, 2)
    assert await notes(writer) == [2]
    assert await run(writer, "SELECT * FROM reply") == []


def _added(
    goes: list[int], connection: apsw.Connection, _now: TransactionTime, numbers: Sequence[int]
) -> list[int]:
    """Add numbers; `goes` gathers how many were added at a time."""
    goes.append(len(numbers))
    connection.executemany(ADD, [(number,) for number in numbers])
    return [10 * number for number in numbers]


async def test_who_wants_the_same_done_has_it_done_in_one_go(writer: Writer) -> None:
    goes: list[int] = []
    work = partial(_added, goes)
    go, holding = await held_up(writer, [])
    calls = [asyncio.create_task(writer.run_on(work, given)) for given in ([1, 2], [3], [4, 5, 6])]
    await asyncio.sleep(0)
    go.set()
    await holding
    assert await asyncio.gather(*calls) == [[10, 20], [30], [40, 50, 60]]
    assert goes == [6]


async def test_whoever_spoils_a_common_go_fails_alone(writer: Writer) -> None:
    goes: list[int] = []
    work = partial(_added, goes)
    go, holding = await held_up(writer, [])
    calls = [asyncio.create_task(writer.run_on(work, given)) for given in ([1, 2], [3, 3], [4])]
    await asyncio.sleep(0)
    go.set()
    await holding
    first, guilty, last = await asyncio.gather(*calls, return_exceptions=True)
    assert (first, last) == ([10, 20], [40])
    assert isinstance(guilty, StoreRefused)
    assert goes == [5, 2, 2, 1]
    assert await notes(writer) == [1, 2, 4]


async def test_a_common_go_has_its_bounds(writer: Writer) -> None:
    goes: list[int] = []
    work = partial(_added, goes)
    go, holding = await held_up(writer, [])
    numbers = [list(range(first, first + 400)) for first in range(0, 2_000, 400)]
    calls = [asyncio.create_task(writer.run_on(work, given)) for given in numbers]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(holding, *calls)
    assert goes == [800, 800, 400]
