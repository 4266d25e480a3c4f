"""Faults at named steps: one more worker comes, fails at a failpoint when it passes by, and is not replaced."""

import asyncio
import signal
import time
from contextlib import suppress
from random import Random

from chaos import failpoints
from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene
from chaos.staff import Hand

AFTER_A_STOP = frozenset({"store.hand_back.before", "store.hand_back.after"})
"""Places that a worker comes by only when it is told to stop while something runs."""

SELDOM = ("store.reap", "store.promote", "store.spawn", "store.hand_back", "zygote.spare")
"""What a worker may do no more than once in its short life."""

LATEST = 15.0
"""Seconds within which somebody has come by, if anybody does."""


async def step(scene: Scene, random: Random) -> list[Strike]:
    """Let a worker, or a process below it, be killed at the step that was hit least so far."""
    place = min(failpoints.PLACES, key=lambda name: (scene.aimed[name], random.random()))
    scene.aimed[place] += 1
    passing = 1 if place.startswith(SELDOM) else random.randint(1, 3)
    return await _failing(scene, "step", f"{place}=kill@{passing}", is_over_at_once=True)


async def stall(scene: Scene, random: Random) -> list[Strike]:
    """Let a worker's event loop stand still past its leases, or a heartbeat alone hang."""
    place = random.choice(("store.heartbeat.before", "store.heartbeat.after"))
    action = random.choice((f"pause:{scene.staff.manner.lease * random.uniform(1.2, 1.5):.2f}", "hang"))
    return await _failing(scene, "stall", f"{place}={action}@{random.randint(1, 2)}", is_over_at_once=False)


async def _failing(scene: Scene, fault: str, armed: str, *, is_over_at_once: bool) -> list[Strike]:
    hand = await scene.staff.hire_another(armed)
    hand.afflicted = True
    place = armed.partition("=")[0]
    fired = await _fired(hand, stops=place in AFTER_A_STOP)
    if fired is not None and not is_over_at_once:
        await asyncio.sleep(scene.staff.manner.lease * 2)
    name = hand.name
    hand.stop()
    await hand.process.wait()
    if fired is None:
        return []
    ended = fired.at if is_over_at_once else time.monotonic()
    return [Strike(fault=fault, began=fired.at, ended=ended, worker=name, what=armed)]


async def _fired(hand: Hand, *, stops: bool) -> failpoints.Fired | None:
    """Wait until the worker has failed, telling it to stop when it has begun something if that is needed."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LATEST):
            while True:
                for fired in failpoints.fired(hand.fired):
                    return fired
                if not hand.is_alive:
                    return None
                if stops and hand.stop_at is None and hand.told("AttemptSettled"):
                    hand.stop(signal.SIGTERM)
                    hand.stop(signal.SIGTERM)
                await asyncio.sleep(0.02)
    return None


FAULTS = (
    Fault(
        name="step",
        number="F2",
        act=step,
        what="a process is killed at a named step",
        every=0.7,
        counters=("rescue",),
    ),
    Fault(
        name="stall",
        number="F4",
        act=stall,
        what="a worker's loop stands still past its leases, or one heartbeat of it hangs",
        every=2.0,
    ),
)
