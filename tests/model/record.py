"""What the model has on record: jobs, their histories, their owners, and their places in line."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from tenure.core.model.job import Event, Job, NewJob
from tenure.core.model.lease import Lease
from tenure.core.model.outcome import Attempt, Ending
from tenure.core.model.states import State
from tenure.core.values.documents import write
from tenure.core.values.failure import Failure
from tests.model import coverage

_AS_REQUESTED = (
    *("namespace", "definition", "version", "queue", "priority", "params", "scope", "key", "policy"),
    *("limits", "tags", "parent", "replay_of", "traceparent", "creator"),
)
_COUNTERS = ("fence", "attempt", "failures", "hand_backs", "suspensions", "events")
_EMPTY = (
    *("due_at", "queued_at", "started_at", "finished_at", "cancel_requested_at", "progress", "worker"),
    *("heartbeat_at", "lease_expires_at", "result", "error"),
)


@dataclass
class Holding:
    """One claim, kept under its fence: whose it is, and until when."""

    worker: str
    expires_at: datetime
    heartbeat_at: datetime


class Record:
    """Jobs at one moment, `now`, which is moved by hand. `visited` is called for every step."""

    def __init__(self, now: datetime, visited: Callable[[str], None]) -> None:
        self.now = now
        self.visited = visited
        self.jobs: dict[UUID, Job] = {}
        self.holdings: dict[int, Holding] = {}
        # The call that queued a job, then its turn within the call; of equal places either may come first.
        self.places: dict[UUID, tuple[int, float]] = {}
        self.calls = 0
        self.sizes: dict[str, int] = {}
        self._events: dict[UUID, list[Event]] = {}
        self._ended: dict[UUID, list[Attempt]] = {}

    def get(self, job: UUID) -> Job | None:
        """The job with what is kept elsewhere: sizes, its lease, and what went wrong the last time."""
        found = self.jobs.get(job)
        if found is None:
            return None
        limits = sorted(replace(limit, size=self.sizes[limit.name]) for limit in found.limits)
        error = self._ended[job][-1].error if self._ended[job] else None
        found = replace(found, limits=tuple(limits))
        if not found.state.is_owned:
            return replace(found, error=error)
        held = self.holdings[found.fence]
        times = {"heartbeat_at": held.heartbeat_at, "lease_expires_at": held.expires_at}
        return replace(found, error=error, worker=held.worker, **times)

    def events(self, job: UUID) -> list[Event]:
        return self._events.get(job, [])

    def attempts(self, job: UUID) -> list[Attempt]:
        found = self.jobs.get(job)
        return self._ended.get(job, []) + ([self._attempt(found)] if found and found.state.is_owned else [])

    def born(self, new: NewJob, job: UUID, run_at: datetime | None) -> Job:
        """A job that has taken no step yet."""
        requested = {name: getattr(new, name) for name in _AS_REQUESTED}
        nothing_yet: dict[str, Any] = {**dict.fromkeys(_COUNTERS, 0), **dict.fromkeys(_EMPTY)}
        times: dict[str, Any] = {"created_at": self.now, "updated_at": self.now, "run_at": run_at}
        self._events[job], self._ended[job] = [], []
        return Job(id=job, state=State.CREATED, **requested, **times, **nothing_yet)

    def step(
        self,
        job: Job,
        target: State,
        event: str,
        by: str,
        *,
        actor: str | None = None,
        reason: str | None = None,
        due_at: datetime | None = None,
        place: float = 0,
        **changed: Any,
    ) -> Job:
        """Take one step of the table and put it on record, under the attempt that it is about."""
        source = job.state if job.events else None
        self.visited(coverage.of_step(source, target, event, by))
        times = {"updated_at": self.now, "due_at": due_at}
        if target is State.QUEUED:
            times["queued_at"] = self.now
            self.places[job.id] = (self.calls, place)
        if target.is_final:
            times["finished_at"] = self.now
        after = replace(job, state=target, events=job.events + 1, **times, **changed)
        self.jobs[job.id] = after
        self._events[job.id].append(
            Event(
                job=job.id,
                n=after.events,
                type=event,
                source=source,
                target=target,
                attempt=max(job.attempt, after.attempt),  # a refund comes after the step
                fence=after.fence,
                at=self.now,
                actor=actor or by,
                reason=reason,
            )
        )
        return after

    def note(self, job: Job, kind: str, actor: str, payload: object, **changed: Any) -> None:
        """Put on record what is not a step."""
        after = replace(job, events=job.events + 1, updated_at=self.now, **changed)
        self.jobs[job.id] = after
        self._events[job.id].append(
            Event(
                job=job.id,
                n=after.events,
                type=kind,
                source=job.state,
                target=job.state,
                attempt=job.attempt,
                fence=job.fence,
                at=self.now,
                actor=actor,
                payload=write(payload),
            )
        )

    def end(self, job: Job, ending: Ending, error: Failure | None = None) -> None:
        """Put on record how the attempt under way ended."""
        self._ended[job.id].append(replace(self._attempt(job), ended_at=self.now, ending=ending, error=error))

    def owner(self, job: Job) -> str:
        """The worker that holds a job's latest lease, or held it."""
        return self.holdings[job.fence].worker

    def holds(self, verb: str, worker: str, lease: Lease) -> bool:
        """Whether a worker may act for a job. A landmark is a refusal for exactly one reason."""
        job, held = self.jobs.get(lease.job), self.holdings.get(lease.fence)
        if job is None or held is None:
            self.visited_if(job is None, f"{verb}: unknown job")
            return False
        reasons = {
            "has run out": held.expires_at <= self.now,
            "is another worker's": held.worker != worker,
            "has another fence": job.state.is_owned and job.fence != lease.fence,
            "has left its owner": not job.state.is_owned,
        }
        against = [reason for reason, is_true in reasons.items() if is_true]
        self.visited_if(len(against) == 1, f"{verb}: lease {', '.join(against)}")
        return not against

    def visited_if(self, is_true: object, landmark: str) -> None:
        if is_true:
            self.visited(landmark)

    def _attempt(self, job: Job) -> Attempt:
        assert job.started_at is not None
        owner = self.owner(job)
        return Attempt(
            job=job.id, fence=job.fence, number=job.attempt, worker=owner, started_at=job.started_at
        )
