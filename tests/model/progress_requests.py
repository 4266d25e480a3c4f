"""Requests about what jobs keep of their progress, and about what they wait for."""

from datetime import timedelta
from typing import NamedTuple

from msgspec.structs import replace

from tenure.core.model.durable import (
    EffectAnswer,
    Signal,
    StepDraft,
    StepKind,
    StepStatus,
    Suspension,
    Wait,
    WaitKind,
)
from tenure.core.values.documents import Document
from tests.model.operator_requests import PAUSABLE, Prune, Resume
from tests.model.requests import Cancel, Enqueue, HandBack, Promote, Reap, SettleAndClaim, UseUpSuspensions
from tests.model.store_and_model import Held, Side

_CHARGE = StepDraft(name="charge", kind=StepKind.ONCE, status=StepStatus.INTENDED, call="c")
DRAFTS: dict[str, StepDraft] = {
    "charge begins": _CHARGE,
    "charge is done": replace(_CHARGE, status=StepStatus.DONE, body=Document('{"paid":1}')),
    "charge is skipped": replace(_CHARGE, status=StepStatus.SKIPPED),
    "page": StepDraft(name="page", kind=StepKind.STEP, status=StepStatus.DONE, body=Document("7")),
    "page of other code": StepDraft(name="page", kind=StepKind.STEP, status=StepStatus.DONE, call="other"),
    "nap is over": StepDraft(name="nap", kind=StepKind.SLEEP, status=StepStatus.DONE),
    "approved": StepDraft(name="approved", kind=StepKind.WAIT, status=StepStatus.DONE, body=Document("true")),
}
WAITS: dict[str, Wait] = {
    "nap": Wait(kind=WaitKind.TIME, step="nap", timeout=timedelta(seconds=20)),
    "no time": Wait(kind=WaitKind.TIME, step="no time", timeout=timedelta(0)),
    "approved": Wait(kind=WaitKind.SIGNAL, step="approved", signal="approved"),
    "approved soon": Wait(
        kind=WaitKind.SIGNAL, step="approved", signal="approved", timeout=timedelta(seconds=20)
    ),
    "charge": Wait(kind=WaitKind.ANSWER, step="charge"),
}


class KeepSteps(NamedTuple):
    """A name comes once a job: the contract says nothing of two of the same name in one call."""

    by: str
    kept: list[tuple[Held, str]]

    async def make(self, side: Side) -> None:
        shown = [held for held, _ in self.kept]
        worker = side.worker(self.by, shown)
        named = zip(side.leases(shown), [DRAFTS[name] for _, name in self.kept], strict=True)
        steps = list({(lease.job, draft.name): (lease, draft) for lease, draft in named}.values())
        answer = await side.store.keep_steps(worker, steps)
        side.compare("answer to keep_steps", answer, side.model.keep_steps(worker, steps))
        await side.compare_progress([held.job for held in shown])


class Suspend(NamedTuple):
    by: str
    waits: list[tuple[Held, str]]

    async def make(self, side: Side) -> None:
        shown = [held for held, _ in self.waits]
        worker = side.worker(self.by, shown)
        waits = [WAITS[name] for _, name in self.waits]
        asked = [Suspension(*pair) for pair in zip(side.leases(shown), waits, strict=True)]
        answer = await side.store.suspend(worker, asked)
        side.compare("answer to suspend", dict(answer), dict(side.model.suspend(worker, asked)))
        await side.compare_progress([held.job for held in shown])


class Tell(NamedTuple):
    """Jobs are told something, one after the other."""

    jobs: list[int]
    name: str
    body: str

    async def make(self, side: Side) -> None:
        signal = Signal(name=self.name, by="somebody", body=Document(self.body))
        for job in side.ids(self.jobs):
            answer = await side.store.signal(job, signal)
            side.compare("answer to signal", answer, side.model.signal(job, signal))
        await side.compare_progress(self.jobs)


class AnswerEffect(NamedTuple):
    """Somebody says of jobs, one after the other, whether the charge has happened."""

    jobs: list[int]
    happened: bool

    async def make(self, side: Side) -> None:
        answered = EffectAnswer(
            step="charge", happened=self.happened, by="ann", result=Document('{"paid":2}')
        )
        for job in side.ids(self.jobs):
            answer = await side.store.answer(job, answered)
            side.compare("answer to answer", answer, side.model.answer(job, answered))
        await side.compare_progress(self.jobs)


class Recall(NamedTuple):
    """All that jobs have kept is asked for, lease by lease."""

    by: str
    shown: list[Held]

    async def make(self, side: Side) -> None:
        worker = side.worker(self.by, self.shown)
        for lease in side.leases(self.shown):
            answer = await side.store.recall(worker, lease)
            side.compare("answer to recall", answer, side.model.recall(worker, lease))


class ForgetSteps(NamedTuple):
    by: str
    shown: list[Held]
    prefix: str

    async def make(self, side: Side) -> None:
        worker = side.worker(self.by, self.shown)
        for lease in side.leases(self.shown):
            answer = await side.store.forget_steps(worker, lease, self.prefix)
            side.compare(
                "answer to forget_steps", answer, side.model.forget_steps(worker, lease, self.prefix)
            )
        await side.compare_progress([held.job for held in self.shown])


class ProgressInEveryWay(NamedTuple):
    """Jobs keep steps, are lost, and go on; wait, and are told; have effects in doubt that are answered."""

    async def make(self, side: Side) -> None:
        await Resume(list(PAUSABLE)).make(side)
        before = len(side.numbered)
        numbers = [before + n for n in range(1, 10)]
        latest = [Held(job, 0) for job in numbers]
        await Enqueue([{"line": "post", "max_attempts": 9}] * 9).make(side)
        await _claim(side)
        await KeepSteps("a", [(held, "charge begins") for held in latest]).make(side)
        await KeepSteps("a", [(held, "page") for held in latest[:4]]).make(side)
        await KeepSteps("a", [(latest[0], "page of other code"), (latest[0], "charge is skipped")]).make(side)
        await HandBack("a", unstarted=latest[1:2], killed=[]).make(side)
        await Reap(after=30, limit=100).make(side)
        await _claim(side)
        # In doubt: begun again, done, skipped; asked about, and answered before that or after it.
        went_on = ("charge begins", "charge is done", "charge is skipped")
        await KeepSteps("a", list(zip(latest[1:4], went_on, strict=True))).make(side)
        for too_late in ("charge begins", "charge is skipped"):
            await KeepSteps("a", [(latest[2], too_late)]).make(side)
        await AnswerEffect(numbers[4:5], happened=True).make(side)
        await Suspend("a", [(held, "charge") for held in latest[4:]]).make(side)
        await AnswerEffect(numbers[4:8], happened=False).make(side)
        await AnswerEffect(numbers[5:6], happened=False).make(side)
        await AnswerEffect(numbers[8:], happened=True).make(side)
        await _claim(side)
        cleared = zip(latest[5:8], ("charge is done", "charge begins", "charge is skipped"), strict=True)
        await KeepSteps("a", list(cleared)).make(side)
        await self._wait_and_tell(side, numbers)
        await self._use_up(side, numbers)

    async def _wait_and_tell(self, side: Side, numbers: list[int]) -> None:
        latest = [Held(job, 0) for job in numbers]
        await Tell(numbers[:1], "approved", "true").make(side)
        kinds = ("approved", "approved", "approved soon", "nap", "no time")
        await Suspend("a", list(zip(latest, kinds, strict=False))).make(side)
        await Tell([*numbers[1:2], *numbers[:1]], "approved", "true").make(side)
        await Tell(numbers[:1], "approved", "false").make(side)
        await Promote(after=20, limit=100).make(side)
        await _claim(side)
        await Recall("a", latest).make(side)
        await KeepSteps("a", [(held, "approved") for held in latest[:3]]).make(side)
        await Suspend("a", [(latest[0], "approved"), (latest[3], "nap")]).make(side)
        await Promote(after=0, limit=100).make(side)
        await _claim(side)
        await KeepSteps("a", [(latest[3], "nap is over")]).make(side)
        await ForgetSteps("a", latest[:4], "pa").make(side)
        await ForgetSteps("a", latest[:1], "none").make(side)

    async def _use_up(self, side: Side, numbers: list[int]) -> None:
        """The rest ends while it waits: cancelled, or suspended too often; one effect stays in doubt."""
        latest = [Held(job, 0) for job in numbers]
        await UseUpSuspensions([*numbers[:3], numbers[4]]).make(side)
        await SettleAndClaim("a", [(latest[4], "suspended")], ["post"], limit=0, lease_for=30).make(side)
        await Cancel(numbers[3:6], reason=None).make(side)
        kinds = ("nap", "approved", "charge")
        await Suspend("a", list(zip(latest, kinds * 3, strict=False))).make(side)
        await AnswerEffect(numbers[1:2], happened=False).make(side)
        await AnswerEffect([*numbers, 10_000], happened=True).make(side)
        await Tell([*numbers, 10_000], "late", "1").make(side)
        await Cancel(numbers[6:], reason=None).make(side)
        await KeepSteps("b", list(zip(latest, DRAFTS, strict=False))).make(side)
        await Prune(after=0, kept_for=(0, 0, 0), limit=1000).make(side)


async def _claim(side: Side) -> None:
    await SettleAndClaim("a", [], lines=["post"], limit=100, lease_for=30).make(side)
