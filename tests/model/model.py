"""The contract of a store, verb by verb, over what is on record: a specification that can be run.

A verb has the name of the store's and answers with what the store must answer. Where the contract leaves a
choice (new ids, fences, which comes first among equals), the verb is also given what the store chose: it
insists that the choice is a legal one, and follows it. A new verb of the store is a new method here.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.job import Enqueued, Job, JobStanding, NewJob, StepTaken
from tenure.core.model.lease import Beat, Claimed, Lease, Order, Pulse
from tenure.core.model.outcome import Ending, Outcome, Recoverable, Report, Settled, Succeeded, Suspended
from tenure.core.model.states import State
from tenure.core.model.trail import RESCHEDULED
from tenure.core.model.turn import TurnResult
from tenure.core.values.failure import Failure
from tests.model import decisions
from tests.model.decisions import due, key_of, line_of, work_of
from tests.model.lines import Lines

WAITING = (State.SCHEDULED, State.RETRYING, State.SUSPENDED)
WORKER_LOST = Failure("WorkerLost", "the lease ran out")
GIVEN_BACK = {
    State.FAILED: Failure("HandedBack", "workers gave it back too often"),
    State.BURIED: Failure("Killed", "killed before its end, and must not run twice"),
}


class Model(Lines):
    """What a store must do."""

    def __init__(self, now: datetime, visited: Callable[[str], None]) -> None:
        super().__init__(now, visited)
        self._keys: dict[tuple[str, str, str | None], UUID] = {}
        self._given_up: set[UUID] = set()

    def enqueue(self, requested: Sequence[NewJob], chosen: Sequence[Enqueued]) -> list[Enqueued]:
        self.calls += 1
        return [
            self._repeated(new, first)
            if (first := self._taken_by(new))
            else self._recorded(new, made.id, place)
            for place, (new, made) in enumerate(zip(requested, chosen, strict=True))
        ]

    def _taken_by(self, new: NewJob) -> Job | None:
        """A key names the request, and outweighs the id."""
        by_key = self._keys.get(key_of(new)) if new.key is not None else None
        job = by_key or new.id
        return self.jobs.get(job) if job else None

    def _repeated(self, new: NewJob, first: Job) -> Enqueued:
        is_same_key = key_of(new) == key_of(first)
        is_same = is_same_key and work_of(new) == work_of(first)
        what = "key" if is_same_key and new.key is not None else "id"
        self.visited(f"enqueue: {what} taken by {'the same' if is_same else 'other'} work")
        return Enqueued(first.id, first.state, fresh=False, matches=is_same)

    def _recorded(self, new: NewJob, job: UUID, place: int) -> Enqueued:
        assert job not in self.jobs, "the id of a new job was already taken"
        assert new.id in {None, job}, "the job has another id than was asked for"
        self.bring(line_of(new), new.limits)
        run_at = new.run_at if new.delay is None else self.now + new.delay
        is_ahead = run_at is not None and run_at > self.now
        state = State.CREATED if new.hold else State.SCHEDULED if is_ahead else State.QUEUED
        due_at = None if state is State.QUEUED else run_at
        self.step(self.born(new, job, run_at), state, state.value, "api", due_at=due_at, place=place)
        if new.key is not None:
            self._keys[key_of(new)] = job
        return Enqueued(job, state, fresh=True)

    def accept(self, ids: Sequence[UUID]) -> list[JobStanding]:
        self.calls += 1

        def accepted(job: Job) -> bool:
            if job.state is not State.CREATED:
                return False
            if job.due_at and job.due_at > self.now:
                self.step(job, State.SCHEDULED, "accepted", "api", due_at=job.due_at)
            else:
                self.step(job, State.QUEUED, "accepted", "api")
            return True

        return self._answers("accept", ids, accepted)

    def cancel(self, ids: Sequence[UUID], *, actor: str, reason: str | None) -> list[JobStanding]:
        def cancelled(job: Job) -> bool:
            if job.state is State.CANCELLING or job.state.is_final:
                return False
            target = State.CANCELLING if job.state is State.RUNNING else State.CANCELLED
            requested = self.step(job, target, target.value, "api", actor=actor, reason=reason)
            self.jobs[job.id] = replace(requested, cancel_requested_at=self.now)
            self.ended_unheard(job)
            return True

        return self._answers("cancel", ids, cancelled)

    def give_up(self, ids: Sequence[UUID]) -> list[JobStanding]:
        def marked(job: Job) -> bool:
            if job.state is not State.RETRYING or job.id in self._given_up:
                return False
            self._given_up.add(job.id)
            self.jobs[job.id] = replace(job, due_at=self.now, updated_at=self.now)
            return True

        return self._answers("give_up", ids, marked)

    def reschedule(
        self, ids: Sequence[UUID], *, run_at: datetime | None, delay: timedelta | None, actor: str
    ) -> list[JobStanding]:
        asked = run_at or self.now + (delay or timedelta(0))

        def moved(job: Job) -> bool:
            if job.state not in {State.SCHEDULED, State.RETRYING} or job.id in self._given_up:
                return False
            assert job.due_at is not None
            due_at = max(asked, self.now)
            if max(job.due_at, self.now) == due_at:
                self.visited("reschedule: the same time")
                return False
            times = {"from": _written(job.due_at), "to": _written(due_at)}
            self.note(job, RESCHEDULED, actor, times, due_at=due_at)
            self.visited(f"reschedule: {job.state} {'later' if due_at > job.due_at else 'sooner'}")
            return True

        answers = self._answers("reschedule", ids, moved)
        return [
            replace(one, is_given_up=True)
            if one.state is State.RETRYING and one.job in self._given_up
            else one
            for one in answers
        ]

    def _answers(self, verb: str, ids: Sequence[UUID], moves: Callable[[Job], bool]) -> list[JobStanding]:
        """One answer for each job that exists, in the order given."""
        standings: dict[UUID, JobStanding] = {}
        for job in dict.fromkeys(ids):
            if job not in self.jobs:
                self.visited(f"{verb}: unknown job")
                continue
            moved = moves(self.jobs[job])
            state = self.jobs[job].state
            self.visited_if(not moved, f"{verb}: left {state}")
            standings[job] = JobStanding(job, state, moved)
        return [standings[job] for job in ids if job in standings]

    def settle_and_claim(
        self, reports: Sequence[Report], order: Order, chosen: Sequence[Claimed]
    ) -> TurnResult:
        return TurnResult(self._settle(order.worker, reports), self.claim(order, chosen))

    def _settle(self, worker: str, reports: Sequence[Report]) -> Settled:
        first: dict[Lease, Outcome] = {}
        for report in reports:
            first.setdefault(report.lease, report.outcome)
        ends = {
            lease: self._settled(self.jobs[lease.job], outcome)
            for lease, outcome in first.items()
            if self.holds("settle", worker, lease)
        }
        accepted = {lease: state for lease, state in ends.items() if state is not None}
        return Settled(accepted, [lease for lease in first if lease not in accepted])

    def _settled(self, job: Job, outcome: Outcome) -> State | None:
        target = decisions.reported(job, outcome)
        name = type(outcome).__name__
        self.visited(f"settle: {name}: {job.state} to {target or 'nothing'}")
        if target is None:
            return None
        self.end(job, Ending(name.lower()), getattr(outcome, "error", None))
        waits = isinstance(outcome, Recoverable | Suspended) and target in WAITING
        changed: dict[str, Any] = {
            "result": outcome.result if isinstance(outcome, Succeeded) else None,
            "attempt": job.attempt - (target is State.SUSPENDED),
            "suspensions": job.suspensions + (target is State.SUSPENDED),
            "failures": job.failures + (target in {State.RETRYING, State.FAILED}),
        }
        due_at = self.now + outcome.after if waits else None  # type: ignore[union-attr]
        self.step(job, target, target.value, "worker", actor=self.owner(job), due_at=due_at, **changed)
        return target

    def heartbeat(self, pulse: Pulse) -> Beat:
        kept = {lease for lease in pulse.leases if self.holds("heartbeat", pulse.worker, lease)}
        # Jobs claimed together share what is prolonged: naming one of them will do, even one that is lost.
        for held in [self.holdings.get(lease.fence) for lease in pulse.leases]:
            if held and held.worker == pulse.worker and held.expires_at > self.now:
                held.expires_at, held.heartbeat_at = self.now + pulse.lease_for, self.now
        for lease in kept & pulse.progress.keys():
            job = self.jobs[lease.job]
            self.jobs[job.id] = replace(job, progress=pulse.progress[lease], updated_at=self.now)
        stop = {lease for lease in kept if self.jobs[lease.job].state is State.CANCELLING}
        self.visited_if(kept, "heartbeat: kept")
        self.visited_if(kept & pulse.progress.keys(), "heartbeat: kept with progress")
        self.visited_if(stop, "heartbeat: kept and told to stop")
        return Beat(frozenset(kept), frozenset(pulse.leases) - kept, frozenset(stop))

    def hand_back(self, worker: str, *, unstarted: Sequence[Lease], killed: Sequence[Lease]) -> Settled:
        self.calls += 1
        given = sorted({*unstarted, *killed})
        accepted = {
            lease: self._handed_back(self.jobs[lease.job], is_killed=lease in killed)
            for lease in given
            if self.holds("hand_back", worker, lease)
        }
        return Settled(accepted, [lease for lease in given if lease not in accepted])

    def _handed_back(self, job: Job, *, is_killed: bool) -> State:
        has_got_on = self.has_got_on(job)
        target = decisions.handed_back(job, is_killed=is_killed, has_got_on=has_got_on)
        is_queued, is_refunded = target is State.QUEUED, has_got_on or decisions.is_refunded(job)
        self.visited_if(has_got_on and is_queued, "hand_back: has kept a step")
        how = "killed" if is_killed else "not started"
        charged = ", charged" if is_queued and not is_refunded else ""
        self.visited(f"hand_back: {how}: {job.state} to {target}{charged}")
        self.end(job, Ending.KILLED if is_killed else Ending.HANDED_BACK, GIVEN_BACK.get(target))
        changed: dict[str, Any] = {
            "attempt": job.attempt - (is_queued and is_refunded),
            "hand_backs": job.hand_backs + (is_queued and is_refunded and not has_got_on),
            "failures": job.failures + (target in {State.FAILED, State.BURIED}),
        }
        event, reason = (
            "handed_back" if is_queued else target.value,
            "killed before its end" if is_killed else how,
        )
        self.step(job, target, event, "worker", actor=self.owner(job), reason=reason, **changed)
        self.ended_unheard(job)
        return target

    def promote(self, limit: int, chosen: Sequence[StepTaken]) -> list[StepTaken]:
        self.calls += 1
        waiting = [job for job in self.jobs.values() if job.state in WAITING and job.due_at is not None]
        free = [job for job in waiting if due(job) <= self.now]
        taken = [self.jobs[moved.job] for moved in chosen]
        self._follow("promote", taken, free, limit, lambda one, other: due(one) < due(other))
        self.visited_if(len({due(job) for job in taken}) < len(taken), "promote: equally due")
        return [self._promoted(job) for job in taken]

    def _promoted(self, job: Job) -> StepTaken:
        if job.id in self._given_up:
            self.step(job, State.FAILED, "failed", "clock", reason="given up")
        else:
            event = "resumed" if job.state is State.SUSPENDED else "queued"
            self.step(job, State.QUEUED, event, "clock", place=due(job).timestamp())
        self.ended_unheard(job)
        return StepTaken(job.id, job.state, self.jobs[job.id].state)

    def reap(self, limit: int, chosen: Sequence[StepTaken]) -> list[StepTaken]:
        self.calls += 1
        run_out = {fence for fence, held in self.holdings.items() if held.expires_at <= self.now}
        lost = [job for job in self.jobs.values() if job.state.is_owned and job.fence in run_out]
        taken = [self.jobs[moved.job] for moved in chosen]
        fences = {job.fence for job in taken}
        # A lease goes whole. One that all its jobs have left may count: only a wide limit surely takes all.
        legal = lost if limit >= len(run_out) else [job for job in lost if job.fence in fences]
        assert len(fences) <= limit, "reap: took more leases than its limit"
        assert sorted(job.id for job in taken) == sorted(job.id for job in legal), "reap: took the wrong jobs"
        self.visited(f"reap: {'nothing' if not taken else 'all' if len(taken) == len(lost) else 'some'}")
        return [self._reaped(job) for job in taken]

    def _reaped(self, job: Job) -> StepTaken:
        target = decisions.reaped(job)
        self.end(job, Ending.LOST, WORKER_LOST)
        event = "orphaned" if target is State.QUEUED else target.value
        failures = job.failures + (target is not State.CANCELLED)
        self.step(job, target, event, "reaper", reason="lease ran out", failures=failures)
        self.ended_unheard(job)
        return StepTaken(job.id, job.state, target)

    def owe(self, job: Job) -> None:
        """A job has ended without its owner's report."""

    def has_got_on(self, job: Job) -> bool:
        """Whether the attempt under way has kept a step."""
        return False

    def ended_unheard(self, job: Job) -> None:
        if self.jobs[job.id].state.is_final:
            self.owe(job)

    def _follow(
        self,
        verb: str,
        taken: list[Job],
        free: list[Job],
        limit: int,
        goes_before: Callable[[Job, Job], bool],
    ) -> None:
        """Check that a store took as many as it could, and none before its turn."""
        left = {job.id: job for job in free}
        assert len(taken) == min(limit, len(free)), f"{verb}: took {len(taken)} of {len(free)}, limit {limit}"
        for job in taken:
            assert left.pop(job.id, None), f"{verb}: took {job.id}, which is {job.state}"
            passed_over = [other.id for other in left.values() if goes_before(other, job)]
            assert not passed_over, f"{verb}: took {job.id} before {passed_over}"
        self.visited(f"{verb}: {'nothing' if not taken else 'some' if left else 'all'}")


def _written(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
