"""Faults of servers: killed at random; the failpoints that they are armed with kill them where it hurts."""

import signal
import time
from random import Random

from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene


async def kill(scene: Scene, random: Random) -> list[Strike]:
    """Kill a server outright; another one takes its place."""
    doors, at = scene.doors, time.monotonic()
    if doors is None or (door := doors.victim(random)) is None:
        return []
    await door.kill()
    if door.process.returncode != -signal.SIGKILL:
        return []
    return [Strike(fault="api", began=at, ended=at)]


async def kill_leasing(scene: Scene, random: Random) -> list[Strike]:  # noqa: ARG001
    """Kill the server of workers in JavaScript; they find it at the same place when it is back."""
    if scene.staff.foreign is None:
        return []
    at = time.monotonic()
    await scene.staff.foreign.doors.restart()
    return [Strike(fault="leasing", began=at, ended=time.monotonic())]


FAULTS = (
    Fault(
        name="api",
        number="F6",
        act=kill,
        what="a server is killed, at random or between its commit and its answer",
        every=3.0,
        counters=("unanswered",),
    ),
    Fault(
        name="leasing",
        number="F6",
        act=kill_leasing,
        what="the server of workers in JavaScript is killed, at random or with its answer in its hand",
        every=3.0,
        at_once=1,
        counters=("untold",),
    ),
)
