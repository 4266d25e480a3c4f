"""Power cuts: what was acknowledged before one is there after it, and the database is whole."""

import asyncio
import os
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import UUID

import apsw

from tenure.core.model.job import NewJob
from tenure.core.values.documents import Document
from tenure.storage.sqlite.file.connection import Durability
from tenure.storage.sqlite.store import SqliteStore
from tests.storage.faults.power_cuts import Disk, Recorder
from tests.storage.faults.sqlite_stores import frequent_checkpoints
from tests.storage.verbs import claim, enqueue_one, settle, state_of, succeeded

# `make long` runs more.
CUTS = int(os.environ.get("TENURE_POWER_CUTS", "200"))
CUTS_A_LOAD = 50
ROUNDS = 12
CALLERS = 5
PAGES_BEFORE_A_CHECKPOINT = 60


class Acknowledged(NamedTuple):
    """That a job is in a state, and how many operations were logged when the store said so."""

    moment: int
    job: UUID
    state: str


class Night(NamedTuple):
    """A load, logged from its first write to its last."""

    disk: Disk
    recorder: Recorder
    acknowledged: list[Acknowledged]


def fresh(folder: Path) -> Path:
    """The folder, made now."""
    folder.mkdir()
    return folder


async def recorded_load(folder: Path, chance: Random, durability: Durability = "full") -> Night:
    """Jobs enqueued, claimed and settled by several callers at once, all logged."""
    path = fresh(folder) / "tenure.db"
    store = SqliteStore(path)
    await store.open()
    await store.migrate()
    await store.close()
    disk, recorder = Disk(folder), Recorder(f"recorder of {folder}")
    acknowledged: list[Acknowledged] = []
    store = SqliteStore(path, durability=durability, vfs=recorder.name)

    async def work(caller: int) -> None:
        for _ in range(ROUNDS):
            params = Document(f'"{"x" * chance.choice((1, 500, 9000))}"')
            jobs = [NewJob(definition="mail", params=params) for _ in range(chance.randint(1, 3))]
            new = await store.enqueue(jobs)
            acknowledged.extend(Acknowledged(len(recorder.operations), job.id, "queued") for job in new)
            owned = await claim(store, worker=f"{caller}", limit=2)
            await settle(store, map(succeeded, owned), worker=f"{caller}")
            acknowledged.extend(
                Acknowledged(len(recorder.operations), one.lease.job, "succeeded") for one in owned
            )

    with frequent_checkpoints(PAGES_BEFORE_A_CHECKPOINT):
        await store.open()
        await asyncio.gather(*(work(caller) for caller in range(CALLERS)))
        await store.close()
    recorder.unregister()
    return Night(disk, recorder, acknowledged)


def cut_apart(night: Night, folder: Path, chance: Random, cuts: int) -> list[int]:
    """Cut the power at as many moments; how many acknowledgements each cut made untrue."""
    operations, done, losses = night.recorder.operations, 0, []
    for number, moment in enumerate(sorted(chance.randint(1, len(operations)) for _ in range(cuts))):
        night.disk.take(operations[done:moment])
        done = moment
        image = fresh(folder / f"{number}")
        night.disk.cut(image, chance)
        # A crash may leave anything in the shared memory.
        (image / "tenure.db-shm").write_bytes(chance.randbytes(chance.choice((0, 32768))))
        losses.append(
            _untrue(
                image / "tenure.db",
                [one for one in night.acknowledged if one.moment <= moment],
            )
        )
        for left in image.iterdir():
            left.unlink()
    return losses


def _untrue(path: Path, acknowledged: list[Acknowledged]) -> int:
    connection = apsw.Connection(str(path))
    try:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        [broken] = connection.execute(
            "SELECT count(*) FROM tenure_job_state s"
            " WHERE n != (SELECT 1 + count(*) FROM tenure_event e WHERE e.job = s.id)"
        ).fetchall()
        assert broken == (0,)
        states = {
            str(job): state for job, state in connection.execute("SELECT id, state FROM tenure_job_state")
        }
    finally:
        connection.close()
    return sum(
        str(one.job) not in states or (one.state == "succeeded" and states[str(one.job)] != "succeeded")
        for one in acknowledged
    )


async def losses_of(folder: Path, durability: Durability, cuts: int) -> list[int]:
    losses = []
    for seed in range(cuts // CUTS_A_LOAD):
        chance = Random(f"{durability} {seed}")
        night = await recorded_load(folder / f"load {seed}", chance, durability)
        assert_the_load_was_lively(night)
        images = fresh(folder / f"images {seed}")
        losses += cut_apart(night, images, chance, CUTS_A_LOAD)
    return losses


def assert_the_load_was_lively(night: Night) -> None:
    """Calls shared commits, and the log was restarted several times."""
    log = [operation for operation in night.recorder.operations if operation.name == "tenure.db-wal"]
    restarts = sum(operation.kind == "write" and operation.offset == 0 for operation in log)
    assert restarts >= 3
    assert len({one.moment for one in night.acknowledged}) < len(night.acknowledged)


async def test_no_power_cut_takes_back_what_was_acknowledged(tmp_path: Path) -> None:
    losses = await losses_of(tmp_path, "full", CUTS)
    assert len(losses) == CUTS
    assert losses == [0] * CUTS


async def test_without_a_sync_for_every_commit_power_cuts_do_take_back_what_was_acknowledged(
    tmp_path: Path,
) -> None:
    """The price of `durability="normal"`, and the proof that these cuts would show a loss."""
    losses = await losses_of(tmp_path, "normal", CUTS_A_LOAD)
    assert sum(lost > 0 for lost in losses) >= 5


async def test_a_store_opened_after_a_power_cut_goes_on(tmp_path: Path) -> None:
    chance = Random("goes on")
    night = await recorded_load(tmp_path / "load", chance)
    night.disk.take(night.recorder.operations[: len(night.recorder.operations) // 2])
    image = fresh(tmp_path / "image")
    night.disk.cut(image, chance)
    store = SqliteStore(image / "tenure.db")
    await store.open()
    await store.verify()
    job = await enqueue_one(store)
    assert await state_of(store, job) == "queued"
    await store.close()
