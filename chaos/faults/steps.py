"""Faults at named steps: one more worker comes, fails where it is armed to, and is not replaced."""

import asyncio
import signal
import time
from random import Random

from chaos import failpoints
from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene
from chaos.staff import Hand

AFTER_A_STOP = frozenset({"store.hand_back.before", "store.hand_back.after"})
"""Places that a worker comes by when it is told to stop while something runs, or when its zygote has died."""

SELDOM = ("store.reap", "store.promote", "store.spawn", "store.hand_back", "zygote.spare")
"""What a worker may do no more than once in its short life."""

LATEST = 15.0
"""Seconds within which somebody has come by, if anybody does."""

LAST_CHANCE = 3.0
"""Seconds for which somebody may still come by when there is no more to do."""

BELOW = tuple(name for name, place in failpoints.PLACES.items() if place.side == "zygote")
"""The steps of processes below a worker, which outlives them."""

CHILDREN = tuple(name for name in BELOW if name.startswith("child."))
"""Those of attempts. One worker is armed with all of them at once: nobody else dies with a child."""

TIMES_BELOW = 5
"""How often each of these fails under one worker, where a run is after nothing else."""


async def step(scene: Scene, random: Random) -> list[Strike]:
    """Let whoever takes the step that was aimed at least so far be killed at it."""
    wanted = scene.aims or tuple(failpoints.PLACES)
    children = [name for name in CHILDREN if name in wanted]
    aims = [*children[:1], *(name for name in wanted if name not in CHILDREN)]
    aim = min(aims, key=lambda name: (scene.aimed[name], random.random()))
    scene.aimed[aim] += 1
    if aim not in BELOW:
        passing = 1 if scene.aims or aim.startswith(SELDOM) else random.randint(1, 3)
        armed = [f"{aim}=kill@{passing}"]
        if aim in AFTER_A_STOP and random.random() < 0.7:
            armed.append("zygote.start.after=kill@2")
        return await _failing(scene, "step", armed)
    times = TIMES_BELOW if scene.aims else 1
    places = children if aim in CHILDREN else [aim]
    return await _failing(
        scene, "step", [f"{name}=kill@{n + 2}*{times}" for n, name in enumerate(places)], times=times
    )


async def stall(scene: Scene, random: Random) -> list[Strike]:
    """Let a worker's event loop stand still past its leases, or a heartbeat alone hang."""
    place = random.choice(("store.heartbeat.before", "store.heartbeat.after"))
    action = random.choice((f"pause:{scene.staff.config.lease * random.uniform(1.2, 1.5):.2f}", "hang"))
    armed = [f"{place}={action}@{random.randint(1, 2)}"]
    return await _failing(scene, "stall", armed, lasts=scene.staff.config.lease * 2)


async def _failing(
    scene: Scene, fault: str, armed: list[str], *, times: int = 1, lasts: float = 0.0
) -> list[Strike]:
    if (hand := await scene.staff.hire_another(",".join(armed), scene.ends_at)) is None:
        return []
    hand.afflicted = True
    scene.tried.update(text.partition("=")[0] for text in armed)
    fired = await _fired(scene, hand, armed, times)
    if fired:
        await asyncio.sleep(lasts)
    name = hand.name
    if hand.is_alive and hand.stop_at is None:
        hand.stop()
    await hand.process.wait()
    return [
        Strike(
            fault=fault,
            began=one.at,
            ended=one.at + lasts,
            # Whoever is below a worker takes nothing of it along.
            worker=None if one.name in BELOW else name,
            what=one.name,
        )
        for one in fired
    ]


async def _fired(scene: Scene, hand: Hand, armed: list[str], times: int) -> list[failpoints.Fired]:
    """What has failed, once all of it has or nobody is left to come by.

    A worker that fails only when it is told to stop is told twice, as soon as it has done something.
    """
    stops = len(armed) == 1 and armed[0].partition("=")[0] in AFTER_A_STOP
    deadline = min(time.monotonic() + LATEST, scene.ends_at + LAST_CHANCE)
    meant = len(armed) * times
    while len(failpoints.fired(hand.fired)) < meant and hand.is_alive and time.monotonic() < deadline:
        if stops and hand.stop_at is None and hand.told("AttemptSettled"):
            hand.stop(signal.SIGTERM)
            hand.stop(signal.SIGTERM)
        await asyncio.sleep(0.05)
    return failpoints.fired(hand.fired)


FAULTS = (
    Fault(
        name="step",
        number="F2",
        act=step,
        what="a process is killed at a named step",
        every=0.5,
        at_once=6,
        counters=("rescue",),
    ),
    Fault(
        name="stall",
        number="F4",
        act=stall,
        what="a worker's loop stands still past its leases, or one heartbeat of it hangs",
        holds_up="one",
        every=2.0,
    ),
)
