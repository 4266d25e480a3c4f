"""Faults of clocks: a worker that believes in another time, by libfaketime, which is fetched if need be."""

import asyncio
import time
from random import Random

from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene
from tests import faketime

SHIFTS = ("-1d", "-1h", "+1h", "+1d")


async def shift(scene: Scene, random: Random) -> list[Strike]:
    """Replace a worker by one whose clock is wrong by an hour or a day; the monotonic one is right."""
    preloaded = await asyncio.to_thread(faketime.library)
    if (hand := scene.staff.victim(random)) is None:
        return []
    by, at = random.choice(SHIFTS), time.monotonic()
    special = {"LD_PRELOAD": str(preloaded), "FAKETIME": by, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    scene.staff.environment.append(special)
    hand.afflicted = True
    name = hand.name
    hand.stop()
    await hand.process.wait()
    struck = Strike(fault="clock", began=at, ended=time.monotonic(), worker=name, what=by)
    return [struck] if await scene.staff.has_come(special) else []


FAULTS = (
    Fault(
        name="clock",
        number="F17",
        act=shift,
        what="a worker is replaced by one whose clock is an hour or a day off",
        # On SQLite the machine's clock is the store's: workers of one machine share it.
        stores=frozenset({"postgres"}),
        every=2.5,
    ),
)
