"""Faults strike whom they mean, and what did not happen is not counted."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from chaos.faults.fault import Strike
from chaos.faults.network import cut_commit, reset
from chaos.faults.postgres import hold, terminate
from chaos.faults.workers import kill, stop_children
from chaos.load import Wanted
from chaos.scene import Scene, staged
from chaos.staff import StaffConfig
from tests.storage.faults.own_server import OwnServer
from tests.until import until, until_sync
from tests.worker.worker_process import generations

PATIENCE = 60.0
DICE = Random(0)
HOLDERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'
      AND query LIKE '%job_state%SKIP LOCKED'
"""
"""How many transactions hold rows and do nothing."""


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """Two workers on a file."""
    async with staged("sqlite", tmp_path / "run", StaffConfig(workers=2, lease=2.0)) as made:
        yield made


@pytest.fixture
async def on_postgres(server: OwnServer, tmp_path: Path) -> AsyncIterator[Scene]:
    """A database without workers."""
    async with staged("postgres", tmp_path / "run", StaffConfig(workers=0), server) as made:
        yield made


async def test_a_worker_that_had_ended_by_itself_was_not_killed(scene: Scene) -> None:
    """The loop has not heard of it, so it still looks alive to whoever wants to strike."""
    for hand in scene.staff.alive():
        _abort(hand.pid)
        assert hand.is_alive
    assert await kill(scene, DICE) == []


async def test_a_worker_that_was_killed_counts(scene: Scene) -> None:
    [struck] = await kill(scene, DICE)
    assert struck.worker in {hand.name for hand in scene.staff.hands if not hand.is_alive}


async def test_to_stop_children_stops_neither_guards_nor_zygotes(scene: Scene) -> None:
    """Of which a worker has more than one of each, once a definition is imported anew for every attempt."""
    await scene.client.enqueue([Wanted(f"spawn-{n}", "noop.spawn") for n in range(8)])
    await until(lambda: not all(len(generations(hand.pid)[0]) < 2 for hand in scene.staff.alive()))
    striking = asyncio.create_task(stop_children(scene, DICE))
    await until(lambda: _stopped(scene))
    minders = {pid for hand in scene.staff.alive() for pid in sum(generations(hand.pid)[:2], [hand.pid])}
    assert not minders & _stopped(scene)
    [struck] = await striking
    assert struck.fault == "stop-children"


async def test_what_finds_nothing_to_strike_at_is_no_strike(on_postgres: Scene) -> None:
    """Nobody has spoken yet, and there is no job to lock."""
    assert await hold(on_postgres, DICE) == []
    assert await cut_commit(on_postgres, DICE) == []


async def test_what_is_held_is_what_workers_need(on_postgres: Scene) -> None:
    [job] = await on_postgres.client.enqueue([Wanted("later", "noop", delay=3600.0)])
    looking = await asyncpg.connect(on_postgres.ground.direct)
    try:
        # A look locks the row for a moment, and what is locked is not held: so the first look waits.
        holding = asyncio.create_task(hold(on_postgres, Random(0)))  # for two seconds
        await until(lambda: looking.fetchval(HOLDERS))
        assert await _is_held(looking, job)
        [struck] = await holding
        assert struck.fault == "hold"
        assert not await _is_held(looking, job)
    finally:
        await looking.close()


@pytest.mark.parametrize("act", [reset, terminate])
async def test_connections_that_are_broken_count(on_postgres: Scene, act: object) -> None:
    await on_postgres.client.enqueue([Wanted("one", "noop", delay=3600.0)])
    struck: list[Strike] = await act(on_postgres, DICE)  # type: ignore[operator]
    assert len(struck) == 1


def _abort(pid: int) -> None:
    os.kill(pid, signal.SIGABRT)
    until_sync(lambda: _state(pid) in {"", "Z"})


def _stopped(scene: Scene) -> set[int]:
    family = {pid for hand in scene.staff.alive() for pid in sum(generations(hand.pid), [hand.pid])}
    return {pid for pid in family if _state(pid) == "T"}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


async def _is_held(connection: Any, job: object) -> bool:
    try:
        await connection.execute("SELECT FROM tenure.job_state WHERE id = $1 FOR UPDATE NOWAIT", job)
    except asyncpg.LockNotAvailableError:
        return True
    return False
