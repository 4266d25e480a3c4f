"""An upgrade without an outage: processes of two versions on one database, replaced one by one under load.

The newer version adds a table, a column and a kind of timers, and writes all three; then it is taken back.
"""

import asyncio
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from chaos import history, ledger
from chaos.checker import check
from chaos.evidence import Evidence, Terms, gather
from tenure.core.model.states import State
from tenure.storage.address import open_store
from tests.surfaces import newer_wheel
from tests.surfaces.command import sql
from tests.surfaces.rotation import DEFINITIONS, Door, Fleet, Process, Rotation
from tests.until import until_sync
from tests.whole import IS_WHOLE

OLD = ""
DOORS = 2 if IS_WHOLE else 1
"""How many servers there are, besides one of the other version while a server is replaced."""

SLACK = timedelta(seconds=20)
"""By how much longer than promised things may take: this machine may be slow."""


@pytest.mark.parametrize("size", [1, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.both_stores
def test_versions_are_replaced_one_by_one_and_nothing_is_refused(
    tmp_path: Path, database: str, size: int
) -> None:
    """0 refused requests, 0 violations; on both stores, forward and back."""
    with ExitStack() as ends:
        fleet = Fleet(database, tmp_path, ends)
        fleet.run(OLD, "migrate")
        [(known,)] = sql(database, "SELECT max(number) FROM tenure.migration")
        new = str(newer_wheel.build(tmp_path / "new", known=known))
        rotation = Rotation(tmp_path)
        workers = [fleet.worker(OLD) for _ in range(size)]
        doors = [fleet.door(OLD) for _ in range(DOORS)]
        for door in doors:
            rotation.put_in(door)
        with rotation.loaded(callers=2):
            _let_run(rotation)
            assert f"applied {newer_wheel.NUMBER}_future" in fleet.run(new, "migrate")
            _let_run(rotation)
            said = fleet.run(OLD, "migrate", "--check")
            assert f"newer, and compatible: it has schema {newer_wheel.NUMBER}" in said
            assert fleet.run(OLD, "jobs", "list", "--state", "succeeded", "--limit", "1")
            workers[0] = _replaced(workers[0], fleet, OLD)
            doors, workers = _roll(fleet, rotation, doors, workers, new)
            assert sql(database, "SELECT count(*) FROM tenure.future") != [(0,)]
            doors, workers = _roll(fleet, rotation, doors, workers, OLD)
        assert rotation.refused == []
        until_sync(lambda: _unfinished(database) == 0)
        calls = [call for path in sorted(tmp_path.glob("history-*")) for call in history.read(path)]
        evidence = asyncio.run(_evidence(database, tmp_path, calls))
        _is_left_alone(database, fleet, new)
        for process in (*workers, *(door.process for door in doors)):
            process.stop()
    assert check(evidence) == []
    assert Counter(job.state for job in evidence.jobs) == {State.SUCCEEDED: rotation.enqueued}


def _roll(
    fleet: Fleet, rotation: Rotation, doors: list[Door], workers: list[Process], version: str
) -> tuple[list[Door], list[Process]]:
    """Replace one after the other, each while the load goes on."""
    fresh = []
    for door in doors:
        fresh.append(fleet.door(version))
        rotation.put_in(fresh[-1])
        _let_run(rotation)
        rotation.take_out(door)
    others = [_replaced(worker, fleet, version) for worker in workers]
    _let_run(rotation)
    return fresh, others


def _replaced(worker: Process, fleet: Fleet, version: str) -> Process:
    another = fleet.worker(version)
    worker.stop()
    return another


def _let_run(rotation: Rotation) -> None:
    """Until some more jobs were enqueued."""
    enough = rotation.enqueued + 20
    until_sync(lambda: rotation.enqueued >= enough or rotation.refused)


def _unfinished(database: str) -> int:
    final = "('succeeded', 'failed', 'cancelled', 'buried')"
    [(found,)] = sql(database, f"SELECT count(*) FROM tenure.job_state WHERE state NOT IN {final}")
    return int(found)


def _is_left_alone(database: str, fleet: Fleet, new: str) -> None:
    """What the newer version wrote is there, its timers too: those after the last of its workers had gone."""
    [(rows,)] = sql(database, "SELECT count(*) FROM tenure.future")
    [(columns,)] = sql(database, "SELECT count(*) FROM tenure.job WHERE flavour = 'sweet'")
    assert rows == columns > 0
    job = fleet.run(new, "enqueue", "plain").strip()
    until_sync(lambda: _unfinished(database) == 0)
    of_kind = f"SELECT job FROM tenure.timer WHERE kind = '{newer_wheel.KIND}'"
    # Those of jobs that came while the last of its workers ended may be there, too.
    assert job in {str(one) for (one,) in sql(database, of_kind)}
    sql(database, f"DELETE FROM tenure.timer WHERE kind = '{newer_wheel.KIND}'")


async def _evidence(database: str, folder: Path, calls: list[history.Call]) -> Evidence:
    terms = Terms(
        poll=SLACK,
        rescue=SLACK,
        overlap=SLACK,
        stopping=SLACK,
        resuming=SLACK,
        effects=frozenset(DEFINITIONS),
        backoff_by_policy=True,
    )
    store = await open_store(database)
    try:
        return await gather(
            store,
            terms,
            ledger=ledger.read(folder / "ledger"),
            history=calls,
        )
    finally:
        await store.close()
