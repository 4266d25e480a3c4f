"""Faults of clocks: a worker that believes in another time.

Needs libfaketime, from the system or where `TENURE_TEST_FAKETIME` says; without it, no clock is shifted.
"""

import os
import shutil
import time
from functools import cache
from pathlib import Path
from random import Random

from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene

SHIFTS = ("-1d", "-1h", "+1h", "+1d")
_USUAL = "/usr/lib/*/faketime/libfaketime.so.1"


@cache
def library() -> str | None:
    """Where libfaketime is, if it is anywhere."""
    if named := os.environ.get("TENURE_TEST_FAKETIME"):
        return named
    if (program := shutil.which("faketime")) is not None:
        beside = Path(program).resolve().parents[1]
        for found in sorted(beside.glob("lib/*/faketime/libfaketime.so.1")):
            return str(found)
    for found in sorted(Path("/").glob(_USUAL.lstrip("/"))):
        return str(found)
    return None


async def shift(scene: Scene, random: Random) -> list[Strike]:
    """Replace a worker by one whose clock is wrong by an hour or a day; the monotonic one is right."""
    if (preloaded := library()) is None or (hand := scene.staff.victim(random)) is None:
        return []
    by, at = random.choice(SHIFTS), time.monotonic()
    scene.staff.environment.append(
        {"LD_PRELOAD": preloaded, "FAKETIME": by, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    )
    hand.afflicted = True
    name = hand.name
    hand.stop()
    await hand.process.wait()
    return [Strike(fault="clock", began=at, ended=time.monotonic(), worker=name, what=by)]


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
