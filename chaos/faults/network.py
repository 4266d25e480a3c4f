"""Faults of the wire to PostgreSQL: it stalls, is reset, and is cut while an answer is on its way."""

import asyncio
import time
from random import Random

from chaos.faults.fault import Fault, Strike
from chaos.scene import Scene
from tests.storage.postgres.relay import Relay


async def stall_wire(scene: Scene, random: Random) -> list[Strike]:
    """Hold back questions, answers, or both, for up to twice a lease."""
    relay, at = _relay(scene), time.monotonic()
    questions, answers = random.choice(((True, True), (True, False), (False, True)))
    relay.stall(questions=questions, answers=answers)
    try:
        await asyncio.sleep(scene.staff.config.lease * random.uniform(0.3, 2.0))
    finally:
        relay.flow()
    what = f"questions {questions}, answers {answers}"
    return [Strike(fault="stall-wire", began=at, ended=time.monotonic(), what=what)]


async def reset(scene: Scene, random: Random) -> list[Strike]:  # noqa: ARG001
    """Reset every connection."""
    at = time.monotonic()
    broken = _relay(scene).reset()
    return [Strike(fault="reset", began=at, ended=at)] if broken else []


async def cut_commit(scene: Scene, random: Random) -> list[Strike]:
    """Cut the next answers short: what was asked is done, and nobody can know."""
    relay, at = _relay(scene), time.monotonic()
    before = relay.cut_short
    for _ in range(random.randint(1, 3)):
        relay.cut_answer(random.randint(0, 12))
        await asyncio.sleep(random.uniform(0.02, 0.1))
    return [Strike(fault="cut-commit", began=at, ended=time.monotonic())] if relay.cut_short > before else []


def _relay(scene: Scene) -> Relay:
    relay = scene.ground.relay
    assert relay is not None  # noqa: S101
    return relay


FAULTS = (
    Fault(
        name="stall-wire",
        number="F12",
        act=stall_wire,
        what="the wire to the database stalls in one or both directions, for up to two leases",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=3.0,
    ),
    Fault(
        name="reset",
        number="F12",
        act=reset,
        what="every connection is reset",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=0.8,
    ),
    Fault(
        name="cut-commit",
        number="F12",
        act=cut_commit,
        what="the answer to a statement is cut off on its way",
        stores=frozenset({"postgres"}),
        holds_up="all",
        every=0.3,
        counters=("unknown",),
    ),
)
