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


FAULTS = (
    Fault(
        name="api",
        number="F6",
        act=kill,
        what="a server is killed, at random or between its commit and its answer",
        every=3.0,
        counters=("unanswered",),
    ),
)
