"""Leases that do not count, shown to every verb that asks for one."""

from typing import NamedTuple

from tests.model.operator_requests import PAUSABLE, Resume
from tests.model.progress_requests import ForgetSteps, KeepSteps, Recall, Suspend
from tests.model.requests import Enqueue, HandBack, Heartbeat, Reap, SettleAndClaim, Wait
from tests.model.store_and_model import Held, Side
from tests.model.trail_requests import Record, Spawn


class LeasesRefusedInEveryWay(NamedTuple):
    """A job's lease is another worker's, has left its owner, has another fence, has run out: each alone."""

    async def make(self, side: Side) -> None:
        await Resume(list(PAUSABLE)).make(side)
        await Enqueue([{"line": "post"}]).make(side)
        job = len(side.numbered)
        await _claim(side)
        await _show(side, "b", Held(job, 0))
        await HandBack("a", unstarted=[Held(job, 0)], killed=[]).make(side)
        await _show(side, "a", Held(job, 0))
        await _claim(side)
        await _show(side, "a", Held(job, 1))
        await Wait(30).make(side)
        await _show(side, "a", Held(job, 0))
        await Reap(after=0, limit=100).make(side)


async def _claim(side: Side) -> None:
    await SettleAndClaim("a", [], lines=["post"], limit=100, lease_for=30).make(side)


async def _show(side: Side, by: str, held: Held) -> None:
    """Ask for each deed that needs a lease; all are refused, so that one does not spoil the next."""
    await SettleAndClaim(by, [(held, "succeeded")], lines=["post"], limit=0, lease_for=30).make(side)
    await Heartbeat(by, [held], lease_for=30, progress=None).make(side)
    await HandBack(by, unstarted=[held], killed=[]).make(side)
    await Record(by, [held], lines=[1], notes=[]).make(side)
    await Spawn(by, held, [{"line": "post"}]).make(side)
    await KeepSteps(by, [(held, "page")]).make(side)
    await Suspend(by, [(held, "nap")]).make(side)
    await Recall(by, [held]).make(side)
    await ForgetSteps(by, [held], "").make(side)
