"""Faults of an SQLite file: another process holds the lock that every writer needs."""

import asyncio
import time
from pathlib import Path
from random import Random

from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene
from tests.storage.faults.sqlite_stores import held_by_another_process


async def lock(scene: Scene, random: Random) -> list[Strike]:
    """Hold the write lock, mostly for less than a lease, now and then for longer."""
    path = scene.ground.path
    assert path is not None  # noqa: S101
    at, seconds = time.monotonic(), scene.staff.config.lease * random.choice((0.2, 0.5, 1.5))
    await asyncio.to_thread(_hold, path, seconds)
    return [Strike(fault="lock", began=at, ended=time.monotonic(), what=f"{seconds:.1f} s")]


def _hold(path: Path, seconds: float) -> None:
    with held_by_another_process(path):
        time.sleep(seconds)


FAULTS = (
    Fault(
        name="lock",
        number="F19",
        act=lock,
        what="another process holds the write lock, for up to one and a half leases",
        stores=frozenset({"sqlite"}),
        holds_up="all",
        every=2.0,
    ),
)
