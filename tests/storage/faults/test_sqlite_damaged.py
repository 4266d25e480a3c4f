"""A damaged file: an error that names it, not nonsense or an error of the driver.

SQLite keeps no checksum of its pages. A byte flipped inside a value can go unnoticed; the tests check that
the result is always a value or an error of ours.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from tenure.core.errors import InvalidInput, StoreError, StoreUnavailable
from tenure.core.model.states import State
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults import damaged_files
from tests.storage.faults.sqlite_stores import change_unguarded, ids_in, opened
from tests.storage.verbs import claim, enqueue_one, job_in, record_of

PAGE = 4096
HARMS: dict[str, Callable[[Path, Random], None]] = {
    "bytes of the header": lambda path, chance: damaged_files.flip(path, 0, 100, 2, chance),
    "whole pages": lambda path, chance: damaged_files.spoil_pages(path, PAGE, 3, chance),
    "the end cut off": lambda path, chance: damaged_files.cut_off(path, chance.random()),
}
# What a flipped byte makes of a value; SQLite checks constraints only when it writes.
NONSENSE = [
    "tenure_job_state SET state = 'qteued'",
    "tenure_job SET on_lost = 'ketry'",
    "tenure_job SET backoff_base_ms = -1",
    "tenure_job SET created_at = 1 << 62",
    "tenure_job SET params = CAST(x'22ff90' AS TEXT)",
]


class Sample(NamedTuple):
    """A database with jobs in all states, closed, and what is on record of each of them."""

    path: Path
    records: dict[UUID, Any]


@pytest.fixture
async def sample(tmp_path: Path) -> Sample:
    path = tmp_path / "tenure.db"
    async with opened(path) as store:
        jobs = [await job_in(store, state) for state in State]
        jobs += [await enqueue_one(store, key=f"{n}") for n in range(30)]
        return Sample(path, {job: await record_of(store, job) for job in jobs})


async def outcome_of(path: Path, call: Awaitable[object]) -> object:
    """The answer of a call, or its error, which must be ours and name the file."""
    try:
        return await call
    except StoreError as error:
        answer = error
    assert str(path) in str(answer) or "guard" in str(answer)
    return answer


async def answers_from(path: Path, jobs: dict[UUID, Any]) -> list[tuple[Any, object]]:
    """The true record of each job and the one the store returns; nothing if the file cannot be opened."""
    store = SqliteStore(path)
    if isinstance(await outcome_of(path, store.open()), StoreError):
        return []
    answers = [(record, await outcome_of(path, record_of(store, job))) for job, record in jobs.items()]
    for call in (store.verify(), claim(store), enqueue_one(store), store.promote(10), store.reap(10)):
        await outcome_of(path, call)
    await store.close()
    return answers


@pytest.mark.parametrize("what", HARMS)
async def test_damage_is_told_and_what_is_told_is_true(sample: Sample, tmp_path: Path, what: str) -> None:
    refused = 0
    for seed in range(15):
        path = damaged_files.copy(sample.path, tmp_path / f"{seed}.db")
        HARMS[what](path, Random(f"{what} {seed}"))
        answers = await answers_from(path, sample.records)
        refused += not answers or any(isinstance(answer, StoreError) for _, answer in answers)
        assert [
            (true, answer)
            for true, answer in answers
            if answer != true and not isinstance(answer, StoreError)
        ] == []
    assert refused >= 3


async def test_flipped_bytes_come_out_as_values_or_as_our_errors(sample: Sample, tmp_path: Path) -> None:
    for seed in range(15):
        path = damaged_files.copy(sample.path, tmp_path / f"{seed}.db")
        damaged_files.flip(path, PAGE, 1 << 30, 60, Random(f"{seed}"))
        await answers_from(path, sample.records)


@pytest.mark.parametrize("nonsense", NONSENSE)
async def test_a_value_that_makes_no_sense_is_damage(sample: Sample, nonsense: str) -> None:
    change_unguarded(sample.path, f"UPDATE {nonsense}")
    async with opened(sample.path) as store:
        answers = [await outcome_of(sample.path, store.get(job)) for job in sample.records]
        assert {type(answer) for answer in answers} == {StoreUnavailable}
        assert all("tenure.db is damaged, restore it from a backup" in str(answer) for answer in answers)


@pytest.mark.parametrize("part", ["cut off", "flipped"])
async def test_a_damaged_log_counts_up_to_where_it_is_whole(tmp_path: Path, part: str) -> None:
    """Its checksums show where: what is left is the database as it was after some commit."""
    path = tmp_path / "tenure.db"
    jobs: list[str] = []
    async with opened(path) as store:
        jobs += [str(await enqueue_one(store, key=f"{n}")) for n in range(20)]
        damaged_files.copy(path, tmp_path / "left.db")
        damaged_files.copy(damaged_files.beside(path, "-wal"), tmp_path / "left.db-wal")
    found = set()
    for seed in range(10):
        left = damaged_files.copy(tmp_path / "left.db", tmp_path / f"{seed}.db")
        log = damaged_files.copy(tmp_path / "left.db-wal", damaged_files.beside(left, "-wal"))
        chance = Random(f"{seed}")
        if part == "cut off":
            damaged_files.cut_off(log, chance.uniform(0.5, 1))
        else:
            start = int(log.stat().st_size * chance.uniform(0.5, 1))
            damaged_files.flip(log, start, start + 100, 3, chance)
        async with opened(left) as store:
            await enqueue_one(store, key="after")
        there = ids_in(left)
        count = len(there & set(jobs))
        assert there & set(jobs) == set(jobs[:count])
        assert len(there) == count + 1
        found.add(count)
    assert len(found) > 2


@pytest.mark.parametrize("content", [b"a letter to a friend", b"SQLite format 3\0" + bytes(5000)])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "letter.txt"
    damaged_files.replace(path, content * 100)
    with pytest.raises(StoreUnavailable, match=r"letter\.txt is not an SQLite database"):
        await SqliteStore(path).open()
    assert path.read_bytes() == content * 100
    assert damaged_files.names_in(tmp_path) == {"letter.txt"}


async def test_a_folder_or_a_pipe_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="it is a directory, name a file in it"):
        await SqliteStore(tmp_path).open()
    pipe = damaged_files.make_pipe(tmp_path / "pipe")
    with pytest.raises(StoreUnavailable, match="pipe cannot be opened: it is not a regular file"):
        await SqliteStore(pipe).open()


def test_jobs_are_not_kept_in_memory() -> None:
    with pytest.raises(InvalidInput, match="in memory, where jobs would be lost"):
        SqliteStore(":memory:")


def test_there_is_no_other_durability() -> None:
    with pytest.raises(InvalidInput, match="give 'full' or 'normal'"):
        SqliteStore("tenure.db", durability="off")  # type: ignore[arg-type]
