"""The contract about what jobs keep of their progress: steps, waits, signals, and effects in doubt."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.durable import (
    Answered,
    Delivered,
    DoubtfulEffect,
    EffectAnswer,
    Forgotten,
    Keeping,
    KeptStep,
    OpenWait,
    Recollection,
    Signal,
    Signalled,
    Standings,
    StepDraft,
    StepKind,
    StepStatus,
    Suspension,
    Verdict,
    Wait,
    WaitKind,
)
from tenure.core.model.job import Job
from tenure.core.model.lease import Lease
from tenure.core.model.outcome import Ending
from tenure.core.model.states import State
from tenure.core.model.trail import Note
from tenure.core.values.bounds import MOST_NOTES
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tests.model import decisions
from tests.model.trails import Trails

FINISHED = frozenset({StepStatus.DONE, StepStatus.SKIPPED})
TOO_OFTEN = Failure("SuspendedTooOften", "it was suspended too often")


class KeptProgress(Trails):
    """The verbs for progress that outlives an attempt."""

    def __init__(self, now: datetime, visited: Callable[[str], None]) -> None:
        super().__init__(now, visited)
        self._steps: dict[UUID, dict[str, KeptStep]] = defaultdict(dict)
        self._signals: dict[UUID, dict[str, Signal]] = defaultdict(dict)
        self._waits: dict[UUID, tuple[int, OpenWait]] = {}  # each with the fence of the attempt that waits
        self._got_on: dict[UUID, int] = {}  # the fence under which a job has kept its last step

    def keep_steps(self, worker: str, steps: Sequence[tuple[Lease, StepDraft]]) -> list[Keeping]:
        answers = [self._kept(worker, lease, draft) for lease, draft in steps]
        for (_, draft), answer in zip(steps, answers, strict=True):
            self.visited(f"keep_steps: {draft.status}: {answer}")
        return answers

    def _kept(self, worker: str, lease: Lease, draft: StepDraft) -> Keeping:
        if not self.holds("keep_steps", worker, lease):
            return Keeping.LOST
        before = self._steps[lease.job].get(draft.name)
        if before is not None and (answer := _judged(before, lease, draft)):
            return answer
        size = None if draft.body is None else len(draft.body.encode())
        kept = before or KeptStep(name=draft.name, kind=draft.kind, status=draft.status, fence=0, at=self.now)
        written: dict[str, Any] = {
            "status": draft.status,
            "call": draft.call,
            "size": size,
            "body": draft.body,
        }
        self._steps[lease.job][draft.name] = replace(
            kept, fence=lease.fence, at=self.now, answered_by=None, **written
        )
        self._got_on[lease.job] = lease.fence
        if before is not None:
            self.visited(f"keep_steps: {before.status} to {draft.status}")
            self._unwait(lease.job, before)
            if before.status is StepStatus.INTENDED and before.fence != lease.fence:
                self._note_doubt(self.jobs[lease.job], draft, worker)
        return Keeping.KEPT

    def _unwait(self, job: UUID, before: KeptStep) -> None:
        if before.status is StepStatus.WAITING and job in self._waits:
            _, wait = self._waits[job]
            if wait.step == before.name:
                del self._waits[job]

    def _note_doubt(self, job: Job, draft: StepDraft, worker: str) -> None:
        if self.notes[job.id] < MOST_NOTES:
            told = write({"step": draft.name, "status": draft.status})
            self._noted(job, Note("custom:in_doubt", told), job.attempt, worker)

    def has_got_on(self, job: Job) -> bool:
        return self._got_on.get(job.id) == job.fence

    def recall(self, worker: str, lease: Lease) -> Recollection | None:
        if not self.holds("recall", worker, lease):
            return None
        steps = self.steps(lease.job)
        waiting = [step for step in steps if step.status is StepStatus.WAITING and step.until]
        over = frozenset(step.name for step in waiting if step.until and step.until <= self.now)
        self.visited_if(over, "recall: a wait is over")
        signals = {signal.name: signal.body for signal in self.signals(lease.job)}
        return Recollection(steps, None, over, signals)

    def forget_steps(self, worker: str, lease: Lease, prefix: str) -> Forgotten | None:
        if not self.holds("forget_steps", worker, lease):
            return None
        kept = self._steps[lease.job]
        gone = [name for name, step in kept.items() if name.startswith(prefix) and step.status in FINISHED]
        for name in gone:
            del kept[name]
        self.visited(f"forget_steps: {'some' if gone else 'none'}")
        return Forgotten(len(gone), len(kept))

    def suspend(self, worker: str, suspensions: Sequence[Suspension]) -> Standings:
        self.calls += 1
        first: dict[Lease, Wait] = {}
        for one in suspensions:
            first.setdefault(one.lease, one.wait)
        held = {lease: wait for lease, wait in first.items() if self.holds("suspend", worker, lease)}
        # In the order of the store: all are suspended before the first is resumed.
        for lease, wait in held.items():
            self._suspended(self.jobs[lease.job], wait, worker)
        for lease in held:
            self._rouse(lease.job, "worker", worker)
        return {lease: self.jobs[lease.job].state for lease in held}

    def _suspended(self, job: Job, wait: Wait, worker: str) -> None:
        target = decisions.waiting(job)
        self.visited(f"suspend: {wait.kind}: {job.state} to {target}")
        self.end(job, Ending.SUSPENDED, TOO_OFTEN if target is State.FAILED else None)
        if target is not State.SUSPENDED:
            failures = job.failures + (target is State.FAILED)
            self.step(job, target, target.value, "worker", actor=worker, failures=failures)
            self.ended_unheard(job)
            return
        before = self._steps[job.id].get(wait.step)
        end = None if wait.timeout is None else self.now + wait.timeout
        if wait.kind is not WaitKind.ANSWER and before is not None:
            self.visited(f"suspend: its step is {before.status}")
            end = before.until if before.status is StepStatus.WAITING else self.now
        elif wait.kind is not WaitKind.ANSWER:
            kind = StepKind.SLEEP if wait.kind is WaitKind.TIME else StepKind.WAIT
            waits: dict[str, Any] = {"name": wait.step, "kind": kind, "status": StepStatus.WAITING}
            self._steps[job.id][wait.step] = KeptStep(**waits, fence=job.fence, at=self.now, until=end)
            self._got_on[job.id] = job.fence
        known: dict[str, Any] = {"kind": wait.kind, "step": wait.step, "signal": wait.signal}
        self._waits[job.id] = (job.fence, OpenWait(job=job.id, since=self.now, until=end, **known))
        changed = {"attempt": job.attempt - 1, "suspensions": job.suspensions + 1, "hand_backs": 0}
        reason = {WaitKind.SIGNAL: f"waits for the signal {wait.signal}"}.get(wait.kind)
        if wait.kind is WaitKind.ANSWER:
            reason = f"waits for an answer about {wait.step}"
        self.step(job, target, "suspended", "worker", actor=worker, reason=reason, due_at=end, **changed)

    def _rouse(self, job: UUID, by: str, actor: str) -> bool:
        """Resume a job for which has come what it waits for."""
        wait = self.open_wait(job)
        if wait is None:
            return False
        step = self._steps[job].get(wait.step)
        has_come = {
            WaitKind.TIME: False,
            WaitKind.SIGNAL: wait.signal in self._signals[job],
            WaitKind.ANSWER: step is None or step.status is not StepStatus.INTENDED,
        }
        if has_come[wait.kind]:
            self.step(self.jobs[job], State.QUEUED, "resumed", by, actor=actor)
            del self._waits[job]
        return has_come[wait.kind]

    def signal(self, job: UUID, signal: Signal) -> Signalled | None:
        if job not in self.jobs:
            self.visited("signal: unknown job")
            return None
        self.calls += 1
        delivered = self._delivered(job, signal)
        if self._rouse(job, "api", signal.by):
            delivered = Delivered.RESUMED
        self.visited(f"signal: {delivered}")
        return Signalled(delivered, self.jobs[job].state)

    def _delivered(self, job: UUID, signal: Signal) -> Delivered:
        before = self._signals[job].get(signal.name)
        if before is not None:
            return Delivered.REPEATED if before.body == signal.body else Delivered.DIFFERS
        if self.jobs[job].state.is_final:
            return Delivered.FINISHED
        self._signals[job][signal.name] = signal
        return Delivered.KEPT

    def answer(self, job: UUID, answer: EffectAnswer) -> Answered | None:
        if job not in self.jobs:
            self.visited("answer: unknown job")
            return None
        self.calls += 1
        verdict = self._verdict(job, answer)
        if self._rouse(job, "api", answer.by):
            verdict = Verdict.RESUMED
        how = "happened" if answer.happened else "did not happen"
        self.visited(f"answer: {how}: {verdict}")
        return Answered(verdict, self.jobs[job].state)

    def _verdict(self, job: UUID, answer: EffectAnswer) -> Verdict:
        step = self._steps[job].get(answer.step)
        status = StepStatus.DONE if answer.happened else StepStatus.CLEARED
        body = answer.result if answer.happened else None
        if step is not None and self._is_doubtful(job, step):
            size = None if body is None else len(body.encode())
            said = replace(step, status=status, at=self.now, answered_by=answer.by, size=size, body=body)
            self._steps[job][answer.step] = said
            return Verdict.RECORDED
        is_same = step is not None and step.answered_by and (step.status, step.body) == (status, body)
        return Verdict.REPEATED if is_same else Verdict.NOT_IN_DOUBT

    def steps(self, job: UUID) -> list[KeptStep]:
        return list(self._steps[job].values())

    def signals(self, job: UUID) -> list[Signal]:
        """The signals of a job, by name."""
        return sorted(self._signals[job].values(), key=lambda signal: signal.name)

    def open_wait(self, job: UUID) -> OpenWait | None:
        """What a suspended job waits for; one that was resumed by the clock waits no more."""
        fence, wait = self._waits.get(job, (0, None))
        found = self.jobs.get(job)
        is_open = found is not None and found.state is State.SUSPENDED and found.fence == fence
        return wait if is_open else None

    def is_in_doubt(self, job: UUID) -> bool:
        return any(self._is_doubtful(job, step) for step in self._steps[job].values())

    def _is_doubtful(self, job: UUID, step: KeptStep) -> bool:
        found = self.jobs[job]
        is_present = found.state.is_owned and found.fence == step.fence
        return step.status is StepStatus.INTENDED and not is_present

    def effects_in_doubt(self) -> list[DoubtfulEffect]:
        doubts = [
            self._doubt(self.jobs[job], step)
            for job, steps in self._steps.items()
            if job in self.jobs
            for step in steps.values()
            if self._is_doubtful(job, step)
        ]
        return sorted(doubts, key=lambda one: (one.since, one.job, one.step))

    def _doubt(self, job: Job, step: KeptStep) -> DoubtfulEffect:
        its_own: dict[str, Any] = {
            name: getattr(job, name) for name in ("namespace", "definition", "queue", "state")
        }
        return DoubtfulEffect(job=job.id, step=step.name, since=step.at, **its_own)

    def forget(self, job: UUID) -> None:
        super().forget(job)
        for kept in (self._steps, self._signals, self._waits, self._got_on):
            kept.pop(job, None)


def _judged(before: KeptStep, lease: Lease, draft: StepDraft) -> Keeping | None:
    """The answer where a step of this name is on record and stays as it is."""
    was = before.status
    if before.kind is not draft.kind or (before.call != draft.call and was is not StepStatus.WAITING):
        return Keeping.DIFFERS
    if (was, before.fence, before.body) == (draft.status, lease.fence, draft.body):
        return Keeping.KEPT
    stays = was in FINISHED or (was is StepStatus.WAITING and draft.status is not StepStatus.DONE)
    return Keeping.DIFFERS if stays else None
