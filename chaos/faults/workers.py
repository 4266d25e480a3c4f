"""Faults of processes: workers and their children are killed, stopped, frozen and restarted."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from random import Random

import apsw

from chaos.evidence import Outage
from chaos.faults.fault import IN_A_WRITE, Fault, Strike
from chaos.scene import Scene
from chaos.staff import Hand
from tests.worker.worker_process import descendants, generations

LONGEST_WRITE_MS = 500
"""Who has the lock of an SQLite file for longer than this stands still."""

LET_GO = 0.75
"""How many of those go on at once: while they stand still, nothing is to be seen of anything else."""


async def kill(scene: Scene, random: Random) -> list[Strike]:
    """Kill a worker outright."""
    if (hand := scene.staff.victim(random)) is None:
        return []
    name, at = hand.name, time.monotonic()
    hand.afflicted = True
    hand.send(signal.SIGKILL)
    if await hand.process.wait() != -signal.SIGKILL:
        return []  # it had ended by itself a moment before
    return [Strike(fault="kill", began=at, ended=at, worker=name)]


async def pause(scene: Scene, random: Random) -> list[Strike]:
    """Stop a worker for longer than its leases last, and let it go on; its children run meanwhile."""
    return await _stopped(scene, random, "pause", _itself)


async def freeze(scene: Scene, random: Random) -> list[Strike]:
    """The same with everybody below it."""
    return await _stopped(scene, random, "freeze", _family)


async def stop_children(scene: Scene, random: Random) -> list[Strike]:
    """Stop what a worker runs, but neither the worker nor those who mind its children."""
    return await _stopped(scene, random, "stop-children", _children)


async def deploy(scene: Scene, random: Random) -> list[Strike]:
    """Tell a worker to stop, once or twice, by one signal or another; a new one takes its place."""
    if (hand := scene.staff.victim(random)) is None:
        return []
    number, times = random.choice(((signal.SIGTERM, 1), (signal.SIGTERM, 2), (signal.SIGINT, 1)))
    hand.afflicted = True
    name, at = hand.name, time.monotonic()
    for _ in range(times):
        hand.stop(number)
        await asyncio.sleep(random.uniform(0.0, 0.2))
    await hand.process.wait()
    ended = time.monotonic()
    return [Strike(fault="deploy", began=at, ended=ended, worker=name, what=f"{number.name} x{times}")]


async def _stopped(
    scene: Scene, random: Random, fault: str, chosen: Callable[[Hand], list[int]]
) -> list[Strike]:
    if (hand := scene.staff.victim(random)) is None:
        return []
    hand.afflicted = True
    name, at = hand.name, time.monotonic()
    pids = chosen(hand)
    _send(pids, signal.SIGSTOP)
    try:
        is_writing = await asyncio.to_thread(is_locked, scene.ground.path)
        is_let_go = is_writing and random.random() < LET_GO
        leases = 0.0 if is_let_go else random.uniform(1.15, 1.6 if is_writing else 4.0)
        await asyncio.sleep(scene.staff.config.lease * leases)
        is_struck = any(map(_stands_still, pids))
    finally:
        # Parents first would let them see their children stand still.
        _send(reversed(pids), signal.SIGCONT)
        hand.afflicted = False
    ended = time.monotonic()
    if is_let_go:
        scene.machine.lags.append((at, ended))
    if is_let_go or not is_struck:
        return []
    if is_writing:
        scene.outages.append(Outage(at, ended))
    return [Strike(fault=fault, began=at, ended=ended, worker=name, what=IN_A_WRITE if is_writing else "")]


def is_locked(path: Path | None) -> bool:
    """Whether nobody can write to an SQLite file: then somebody was stopped who has its only lock.

    It is as if the database were away, for as long as whoever has the lock stands still.
    """
    if path is None:
        return False
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(LONGEST_WRITE_MS)
        connection.execute("BEGIN IMMEDIATE; ROLLBACK")
    except apsw.BusyError:
        return True
    finally:
        connection.close()
    return False


def _itself(hand: Hand) -> list[int]:
    return [hand.pid]


def _family(hand: Hand) -> list[int]:
    return [hand.pid, *descendants(hand.pid)]


def _children(hand: Hand) -> list[int]:
    # Below it are its guards, below these zygotes: one of each for every way in which the app is imported.
    return [pid for generation in generations(hand.pid)[2:] for pid in generation]


def _stands_still(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


FAULTS = (
    Fault(
        name="kill",
        number="F1",
        act=kill,
        what="a worker is killed at random",
        counters=("rescue",),
    ),
    Fault(
        name="pause",
        number="F3",
        act=pause,
        what="a worker is stopped for 1.15 to 4 leases, and goes on",
        holds_up="one",
        every=1.5,
        counters=("rescue", "stale"),
    ),
    Fault(
        name="stop-children",
        number="F4",
        act=stop_children,
        what="the processes of attempts are stopped for 1.15 to 4 leases, their worker is not",
        holds_up="one",
        every=1.5,
    ),
    Fault(
        name="freeze",
        number="F5",
        act=freeze,
        what="a worker and everybody below it is frozen for 1.15 to 4 leases, and goes on",
        holds_up="one",
        every=1.5,
        counters=("rescue",),
    ),
    Fault(
        name="deploy",
        number="F37",
        act=deploy,
        what="a worker is told to stop by SIGTERM, SIGTERM twice or SIGINT, and replaced",
        counters=("refund",),
    ),
)
