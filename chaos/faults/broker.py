"""Faults of the broker whose messages lead workers to jobs: it is killed, and all that it held is lost."""

import time
from random import Random

from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene


async def kill(scene: Scene, random: Random) -> list[Strike]:
    """Kill it, and have it back empty."""
    if scene.broker is None:
        return []
    began = time.monotonic()
    if not await scene.broker.restart(random.uniform(0.2, 2.0)):
        return []
    return [Strike(fault="broker", began=began, ended=time.monotonic())]


FAULTS = (
    Fault(
        name="broker",
        number="F38",
        act=kill,
        what="the broker whose messages lead workers to jobs is killed, and all that it held is lost",
        every=10.0,
        at_once=1,
        counters=("named",),
    ),
)
