"""What operators ask of a store, and claims by somebody who knows nothing of its lines yet."""

from datetime import timedelta
from typing import NamedTuple

from tenure.core.lease import Line, Order
from tests.model.requests import LINES
from tests.model.side import Side

LOOKS = 3
"""After how many claims in a row nobody may be left in line for whom there is room."""


class ClaimAll(NamedTuple):
    """All that lines have to give is claimed."""

    lines: list[str]

    async def make(self, side: Side) -> None:
        served = tuple(LINES[name] for name in self.lines)
        await _claim_unprepared(side, served)
        for _ in range(LOOKS - 1):
            if side.model.claimable(served):
                await _claim_unprepared(side, served)
        left = [side.numbered.index(job.id) + 1 for job in side.model.claimable(served)]
        side.compare("who is left in line though there is room", left, [])
        side.model.visited("claim: all that there is room for")


class SetLimit(NamedTuple):
    name: str
    size: int

    async def make(self, side: Side) -> None:
        await side.store.set_limit(self.name, self.size)
        side.model.set_limit(self.name, self.size)


class Pause(NamedTuple):
    """The target is a line by its name here, or a queue."""

    target: str
    seconds: int | None

    async def make(self, side: Side) -> None:
        until = None if self.seconds is None else side.model.now + timedelta(seconds=self.seconds)
        target, said = LINES.get(self.target, self.target), {"by": "ann", "reason": f"for {self.seconds}"}
        await side.store.pause(target, until=until, **said)
        side.model.pause(target, until=until, **said)


class Resume(NamedTuple):
    targets: list[str]

    async def make(self, side: Side) -> None:
        for name in self.targets:
            target = LINES.get(name, name)
            answer = await side.store.resume(target)
            side.compare("answer to resume", answer, side.model.resume(target))


async def _claim_unprepared(side: Side, served: tuple[Line, ...]) -> None:
    """A store may remember what it found for an order; one that was never made before it must look up."""
    side.orders += 1
    lines = (*served, Line("nowhere", f"order-{side.orders}"))
    order = Order(worker="a", lines=lines, limit=100)
    claimed = (await side.store.settle_and_claim([], order)).claimed
    side.compare("answer to a claim", list(claimed), side.model.claim(order, claimed))
