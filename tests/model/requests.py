"""Requests to a store, as values that are short to read; each is made on the store and on its model."""

from datetime import timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Line, Order, Progress, Pulse
from tenure.core.model.limit import Limit
from tenure.core.model.outcome import (
    Outcome,
    Recoverable,
    Report,
    Settled,
    Stopped,
    Succeeded,
    Suspended,
    Unrecoverable,
)
from tenure.core.model.policy import OnLost, Policy
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.core.values.documents import Document
from tenure.core.values.failure import Failure
from tests.model.store_and_model import Held, Side
from tests.storage.clock import START
from tests.storage.verbs import steps

LINES = {"mail": Line("default", "mail"), "post": Line("default", "post"), "slow": Line("slow", "mail")}
OUTCOMES: dict[str, Outcome] = {
    "succeeded": Succeeded(Document('{"sent":1}')),
    "returned nothing": Succeeded(),
    "recoverable": Recoverable(Failure("ValueError", "boom", "line 1"), timedelta(seconds=10)),
    "recoverable at once": Recoverable(Failure("OSError", "gone"), timedelta(0)),
    "unrecoverable": Unrecoverable(Failure("Fatal", "no such address")),
    "stopped": Stopped(),
    "suspended": Suspended(timedelta(seconds=20)),
    "suspended for no time": Suspended(timedelta(0)),
}


class Request(Protocol):
    """A request that can be made on every side."""

    async def make(self, side: Side) -> object:
        """Ask the store and the model, and compare their answers."""


class Enqueue(NamedTuple):
    requested: list[dict[str, Any]]

    async def make(self, side: Side) -> None:
        jobs = [new_job(**requested) for requested in self.requested]
        answer = await side.store.enqueue(jobs)
        side.compare("answer to enqueue", answer, side.model.enqueue(jobs, answer))
        side.numbered += [made.id for made in answer if made.fresh]


class Accept(NamedTuple):
    jobs: list[int]

    async def make(self, side: Side) -> None:
        ids = side.ids(self.jobs)
        side.compare("answer to accept", await side.store.accept(ids), side.model.accept(ids))


class Cancel(NamedTuple):
    jobs: list[int]
    reason: str | None

    async def make(self, side: Side) -> None:
        ids = side.ids(self.jobs)
        answer = await side.store.cancel(ids, actor="somebody", reason=self.reason)
        side.compare("answer to cancel", answer, side.model.cancel(ids, actor="somebody", reason=self.reason))


class GiveUp(NamedTuple):
    jobs: list[int]

    async def make(self, side: Side) -> None:
        ids = side.ids(self.jobs)
        side.compare("answer to give_up", await side.store.give_up(ids), side.model.give_up(ids))


class Reschedule(NamedTuple):
    """To so many seconds from now, asked for as a time or as a delay; without them, at once."""

    jobs: list[int]
    seconds: int | None
    as_time: bool = False

    async def make(self, side: Side) -> None:
        ids = side.ids(self.jobs)
        delay = None if self.seconds is None else timedelta(seconds=self.seconds)
        asked: dict[str, Any] = {"run_at": None, "delay": delay, "actor": "somebody"}
        if self.as_time and delay is not None:
            asked |= {"run_at": side.model.now + delay, "delay": None}
        answer = await side.store.reschedule(ids, **asked)
        side.compare("answer to reschedule", answer, side.model.reschedule(ids, **asked))


class SettleAndClaim(NamedTuple):
    by: str
    ended: list[tuple[Held, str]]
    lines: list[str]
    limit: int
    lease_for: int

    async def make(self, side: Side) -> list[Lease]:
        shown = [held for held, _ in self.ended]
        outcomes = [OUTCOMES[outcome] for _, outcome in self.ended]
        reports = [Report(*pair) for pair in zip(side.leases(shown), outcomes, strict=True)]
        order = Order(
            worker=side.worker(self.by, shown),
            lines=tuple(LINES[name] for name in self.lines),
            limit=self.limit,
            lease_for=timedelta(seconds=self.lease_for),
        )
        answer = await side.store.settle_and_claim(reports, order)
        expected = side.model.settle_and_claim(reports, order, answer.claimed)
        side.compare("answer to a report", _sorted(answer.settled), _sorted(expected.settled))
        side.compare("answer to a claim", list(answer.claimed), list(expected.claimed))
        return [claimed.lease for claimed in answer.claimed]


class Heartbeat(NamedTuple):
    by: str
    shown: list[Held]
    lease_for: int
    progress: tuple[float, str] | None

    async def make(self, side: Side) -> None:
        leases = side.leases(self.shown)
        pulse = Pulse(
            worker=side.worker(self.by, self.shown),
            leases=leases,
            lease_for=timedelta(seconds=self.lease_for),
            progress=dict.fromkeys(leases, Progress(*self.progress)) if self.progress else {},
        )
        side.compare("answer to heartbeat", await side.store.heartbeat(pulse), side.model.heartbeat(pulse))


class HandBack(NamedTuple):
    by: str
    unstarted: list[Held]
    killed: list[Held]

    async def make(self, side: Side) -> None:
        worker = side.worker(self.by, [*self.unstarted, *self.killed])
        await _hand_back(side, worker, side.leases(self.unstarted), side.leases(self.killed))


class PassAround(NamedTuple):
    """All that waits is claimed and given back, so many times over."""

    times: int
    killed: bool

    async def make(self, side: Side) -> None:
        for _ in range(self.times):
            owned = await SettleAndClaim("a", [], list(LINES), limit=100, lease_for=30).make(side)
            await _hand_back(side, "a", [] if self.killed else owned, owned if self.killed else [])


class JobInEveryState(NamedTuple):
    """Jobs are brought into every state there is."""

    async def make(self, side: Side) -> None:
        before = len(side.numbered)
        mail, once = {"line": "mail"}, {"line": "mail", "max_attempts": 1}
        twice, bury = {"line": "mail", "max_attempts": 2}, {"line": "mail", "on_lost": "bury"}
        later: list[dict[str, Any]] = [{}, {"delay": 30}, {"hold": True}, {"delay": 30, "hold": True}]
        for _ in range(2):  # the second time there is nothing to do
            await Promote(after=0, limit=100).make(side)
            await Reap(after=0, limit=100).make(side)
        ended = {1: "succeeded", 2: "unrecoverable", 3: "recoverable", 4: "recoverable", 5: "suspended"}
        await Enqueue([*[mail] * 5, bury, mail, twice, bury, mail, once, twice, bury]).make(side)
        await PassAround(times=1, killed=False).make(side)
        await SettleAndClaim("a", [], lines=["mail"], limit=100, lease_for=30).make(side)
        await HandBack("a", unstarted=[], killed=[Held(before + 6, 0)]).make(side)
        await Enqueue([{"line": "post", **requested} for requested in later]).make(side)
        await Cancel([before + job for job in (7, 8, 9, 14)], reason=None).make(side)
        reports = [(Held(before + job, 0), outcome) for job, outcome in ended.items()]
        await SettleAndClaim("a", reports, lines=[], limit=0, lease_for=30).make(side)
        await GiveUp([before + 3]).make(side)
        await UseUpSuspensions([before + 10]).make(side)
        # In vain, so that every refusal is seen wherever there is a job to be refused.
        await Accept([before + job for job in range(1, 16)]).make(side)
        await GiveUp([before + job for job in range(1, 18) if job != 4]).make(side)
        for soon in (40, 20, 20):
            await Reschedule([before + job for job in range(1, 18)], soon).make(side)
        await Cancel([before + job for job in (1, 2, 6, 7, 8, 9, 14)], reason=None).make(side)
        await HandBack("a", unstarted=[Held(before + 11, 1)], killed=[]).make(side)


class UseUpSuspensions(NamedTuple):
    """Jobs are set to have used up their suspensions; to really use them up would take all day."""

    jobs: list[int]

    async def make(self, side: Side) -> None:
        for job in set(side.ids(self.jobs)) & side.model.jobs.keys():
            if not side.model.jobs[job].state.is_final:
                where = f"suspensions = {MOST_SUSPENSIONS} WHERE id = '{job}'"
                await side.backend.sql(f"UPDATE tenure.job_state SET {where}")
                side.model.jobs[job] = replace(side.model.jobs[job], suspensions=MOST_SUSPENSIONS)


class Promote(NamedTuple):
    after: int
    limit: int

    async def make(self, side: Side) -> None:
        await side.advance(self.after)
        answer = await side.store.promote(self.limit)
        side.compare("answer to promote", answer, side.model.promote(self.limit, answer))


class Reap(NamedTuple):
    after: int
    limit: int

    async def make(self, side: Side) -> None:
        await side.advance(self.after)
        answer = await side.store.reap(self.limit)
        side.compare("answer to reap", steps(answer), side.model.reap(self.limit, answer))


class Wait(NamedTuple):
    seconds: int

    async def make(self, side: Side) -> None:
        await side.advance(self.seconds)


async def _hand_back(side: Side, worker: str, unstarted: list[Lease], killed: list[Lease]) -> None:
    answer = await side.store.hand_back(worker, unstarted=unstarted, killed=killed)
    expected = side.model.hand_back(worker, unstarted=unstarted, killed=killed)
    side.compare("answer to hand_back", _sorted(answer), _sorted(expected))


def _sorted(settled: Settled) -> Settled:
    return Settled(settled.accepted, sorted(settled.lost))


def new_job(
    line: str,
    *,
    id: int | None = None,  # noqa: A002
    params: str = "{}",
    delay: int | None = None,
    run_at: int | None = None,
    max_attempts: int = 3,
    on_lost: str = "retry",
    limits: tuple[tuple[str, str, int], ...] = (),
    **same: Any,
) -> NewJob:
    """A short request for a job: times are seconds, an id is a number."""
    return NewJob(
        queue=LINES[line].queue,
        definition=LINES[line].definition,
        id=None if id is None else UUID(int=id << 64),
        params=Document(params),
        delay=None if delay is None else timedelta(seconds=delay),
        run_at=None if run_at is None else START + timedelta(seconds=run_at),
        limits=tuple(Limit(*limit) for limit in limits),
        policy=Policy(max_attempts=max_attempts, on_lost=OnLost(on_lost)),
        **same,
    )
