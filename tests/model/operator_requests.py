"""Requests of operators, and claims by a store that knows nothing of the lines yet."""

from datetime import timedelta
from typing import NamedTuple

from tenure.core.model.lease import Line, Order
from tenure.core.reports.operations import PauseScope
from tenure.core.reports.retention import Retention
from tests.model.requests import LINES, Cancel, Enqueue
from tests.model.store_and_model import Side

PAUSABLE = {
    **{name: PauseScope.of(line) for name, line in LINES.items()},
    "default": PauseScope("default"),
    "any mail": PauseScope(definition="mail"),
}
LOOKS = 3
"""After how many claims in a row no job with room may be left in line."""


class ClaimAll(NamedTuple):
    """Everything that can be claimed from lines is claimed."""

    lines: list[str]

    async def make(self, side: Side) -> None:
        served = tuple(LINES[name] for name in self.lines)
        await _claim_unprepared(side, served)
        for _ in range(LOOKS - 1):
            if side.model.claimable(served):
                await _claim_unprepared(side, served)
        left = [side.numbered.index(job.id) + 1 for job in side.model.claimable(served)]
        side.compare("jobs left in line though there is room", left, [])
        side.model.visited("claim: all that there is room for")


class SetLimit(NamedTuple):
    name: str
    size: int

    async def make(self, side: Side) -> None:
        await side.store.set_limit(self.name, self.size)
        side.model.set_limit(self.name, self.size)


class Pause(NamedTuple):
    """The target is a line by its name here, a definition in any queue, or a queue."""

    target: str
    seconds: int | None

    async def make(self, side: Side) -> None:
        until = None if self.seconds is None else side.model.now + timedelta(seconds=self.seconds)
        target = PAUSABLE[self.target]
        explained = {"by": "ann", "reason": f"for {self.seconds}"}
        await side.store.pause(target, until=until, **explained)
        side.model.pause(target, until=until, **explained)


class Resume(NamedTuple):
    targets: list[str]

    async def make(self, side: Side) -> None:
        for name in self.targets:
            target = PAUSABLE[name]
            answer = await side.store.resume(target)
            side.compare("answer to resume", answer, side.model.resume(target))


class Replay(NamedTuple):
    jobs: list[int]
    forced: bool

    async def make(self, side: Side) -> None:
        ids = side.ids(self.jobs)
        answer = await side.store.replay(ids, forced=self.forced)
        side.compare("answer to replay", answer, side.model.replay(ids, answer, forced=self.forced))
        made = dict.fromkeys(one.replay for one in answer if one.replay and one.fresh)
        side.numbered += made


class Prune(NamedTuple):
    """All jobs are gone through, so many at a time; times are seconds."""

    after: int
    kept_for: tuple[int, int, int]
    limit: int

    async def make(self, side: Side) -> None:
        await side.advance(self.after)
        succeeded, others, keyed = (timedelta(seconds=seconds) for seconds in self.kept_for)
        retention = Retention(succeeded=succeeded, others=others, keyed=keyed)
        after, is_over = None, False
        while not is_over:
            answer = await side.store.prune(retention, after=after, limit=self.limit)
            expected = side.model.prune(retention, after=after, limit=self.limit)
            side.compare("answer to prune", answer, expected)
            after, is_over = answer.next, answer.next is None
        side.fed = {job: n for job, n in side.fed.items() if job in side.model.jobs}


class KeepForItsKey(NamedTuple):
    """A job with a key has just ended when all that has ended is removed."""

    async def make(self, side: Side) -> None:
        await Enqueue([{"line": "post", "key": "kept"}]).make(side)
        await Cancel([len(side.numbered)], reason=None).make(side)
        await Prune(after=0, kept_for=(0, 0, 30), limit=1000).make(side)


class ReplayAgain(NamedTuple):
    """A job that has just ended is replayed; then once more, and once more though the first is under way."""

    async def make(self, side: Side) -> None:
        await Enqueue([{"line": "post"}]).make(side)
        ended = len(side.numbered)
        await Cancel([ended], reason=None).make(side)
        for forced in (False, False, True):
            await Replay([ended], forced=forced).make(side)


class ClaimPastPause(NamedTuple):
    """A queue, or a definition, is paused while another one has jobs."""

    async def make(self, side: Side) -> None:
        await Resume(list(PAUSABLE)).make(side)
        for paused in ("default", "any mail"):
            await Enqueue([{"line": line} for line in LINES]).make(side)
            await Pause(paused, None).make(side)
            await ClaimAll(list(LINES)).make(side)
            await Resume([paused]).make(side)


async def _claim_unprepared(side: Side, served: tuple[Line, ...]) -> None:
    """A store may remember what it found for an order; one that was never made before it must look up."""
    side.orders += 1
    lines = (*served, Line("nowhere", f"order-{side.orders}"))
    order = Order(worker="a", lines=lines, limit=100)
    claimed = (await side.store.settle_and_claim([], order)).claimed
    side.compare("answer to a claim", list(claimed), side.model.claim(order, claimed))
