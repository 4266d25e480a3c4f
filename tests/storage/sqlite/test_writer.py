"""The one writer: what gathers while it is busy shares a commit, and nobody suffers for a neighbour."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tenure.core.errors import StoreRefused, StoreUnavailable
from tenure.storage.sqlite.writer import Writer

ADD = "INSERT INTO note VALUES (?)"


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    made = Writer(tmp_path / "tenure.db")
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

    def hold(connection: apsw.Connection, _now: int) -> None:
        connection.set_commit_hook(count)
        began.set()
        go.wait()

    task = asyncio.create_task(writer.run(hold))
    await asyncio.to_thread(began.wait)
    return go, task


async def test_what_gathers_while_the_writer_is_busy_shares_one_commit(writer: Writer) -> None:
    commits: list[None] = []
    go, holding = await held_up(writer, commits)
    adding = [asyncio.create_task(add(writer, number)) for number in range(50)]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(holding, *adding)
    assert len(commits) <= 2  # the one under way, and the one all fifty share
    assert await notes(writer) == list(range(50))


async def test_a_write_that_fails_takes_back_its_own_changes_only(writer: Writer) -> None:
    def twice(connection: apsw.Connection, _now: int) -> None:
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

    def spoil(connection: apsw.Connection, _now: int) -> None:
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
    writer = Writer(tmp_path / "missing" / "tenure.db")
    with pytest.raises(StoreUnavailable, match="missing"):
        await writer.open()
    (tmp_path / "missing").mkdir()
    await writer.open()
    await writer.close()


async def test_writing_through_a_closed_writer_is_refused(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "tenure.db")
    await writer.open()
    await writer.close()
    with pytest.raises(StoreUnavailable, match="not open"):
        await add(writer, 1)
