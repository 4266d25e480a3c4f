"""Lines in the model: who may be claimed, under which limits, and whether a store claimed rightly."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from tenure.core.job import Job
from tenure.core.lease import Claimed, Lease, Order
from tenure.core.limit import Limit, LimitUse
from tenure.core.states import State
from tests.model.decisions import line_of
from tests.model.record import Holding, Record

_IN_A_CLAIM = ("namespace", "definition", "version", "queue", "params", "policy", "traceparent")

Name = tuple[str, str]
"""A limit and one of its keys."""


class Lines(Record):
    """The verbs for lines and limits, and claims."""

    def __init__(self, now: datetime, visited: Callable[[str], None]) -> None:
        super().__init__(now, visited)
        self._named: set[Name] = set()

    def set_limit(self, name: str, size: int) -> None:
        used = max((n for (used, _), n in self._held().items() if used == name), default=0)
        before = self.sizes.get(name)
        self.visited_if(before is None, "set_limit: before any job named it")
        self.visited_if(before is not None and size > before, "set_limit: raised")
        self.visited_if(size < used, "set_limit: lowered below what runs")
        self.sizes[name] = size

    def limits(self) -> list[LimitUse]:
        held = self._held()
        return [LimitUse(*name, self.sizes[name[0]], held[name]) for name in sorted(self._named)]

    def bring(self, limits: Sequence[Limit]) -> None:
        """A new job names its limits; the first to bring a name sets its size."""
        for limit in limits:
            size = self.sizes.setdefault(limit.name, limit.size)
            self.visited_if(size != limit.size, "enqueue: limit has another size")
            self._named.add((limit.name, limit.key))

    def claimable(self, order: Order) -> list[Job]:
        """The queued jobs that the order could have now, each by itself."""
        held = self._held()
        return [job for job in self._in_line(order) if self._has_room(job, held)]

    def claim(self, order: Order, chosen: Sequence[Claimed]) -> list[Claimed]:
        free = self._in_line(order)
        taken = [self.jobs[claimed.lease.job] for claimed in chosen]
        self._follow_claim(taken, free, order.limit)
        lines_by_priority = {(job.priority, line_of(job)) for job in free}
        priorities = {job.priority for job in free}
        self.visited_if(len(priorities) > 1, "claim: several priorities")
        self.visited_if(len(lines_by_priority) > len(priorities), "claim: lines of equal priority")
        fences = {claimed.lease.fence for claimed in chosen}
        assert len(fences) <= 1, "claim: jobs claimed together have several fences"
        assert all(fence > max(self.holdings, default=0) for fence in fences), "claim: the fence did not grow"
        for fence in fences:
            self.holdings[fence] = Holding(order.worker, self.now + order.lease_for, self.now)
        return [self._claimed(job, fence) for job in taken for fence in fences]

    def _in_line(self, order: Order) -> list[Job]:
        return [
            job for job in self.jobs.values() if job.state is State.QUEUED and line_of(job) in order.lines
        ]

    def _follow_claim(self, taken: list[Job], free: list[Job], limit: int) -> None:
        """Insist that nobody was taken without room or before its turn, and nobody forgotten.

        A store may be mistaken about the room that limits leave, to their disadvantage, and so pass jobs over
        until it looks again. No other job may suffer more from it than to lose the place of such a one.
        """
        left, held = {job.id: job for job in free}, self._held()
        for job in taken:
            assert left.pop(job.id, None), f"claim: took {job.id}, which is {job.state}"
            assert self._has_room(job, held), f"claim: took {job.id}, but {job.limits} have no room"
            held.update(_names(job))
            passed_over = [other.id for other in left.values() if self._goes_before(other, job)]
            assert not passed_over, f"claim: took {job.id} before {passed_over}"
        waiting = [job for job in left.values() if not self._may_be_passed_over(job)]
        lacking = limit - len(taken)
        assert lacking >= 0, "claim: took more than its limit"
        excused = len(left) - len(waiting)
        assert not waiting or lacking <= excused, f"claim: took {len(taken)} of {len(free)}, limit {limit}"
        self.visited(f"claim: {'nothing' if not taken else 'some' if left else 'all'}")
        self.visited_if(any(len(job.limits) > 1 for job in taken), "claim: several limits")
        no_room = [job for job in left.values() if not self._has_room(job, held)]
        self.visited_if(taken and lacking and no_room, "claim: limit without room passed over")

    def _goes_before(self, one: Job, other: Job) -> bool:
        """Higher priority first; then, in one line, who was queued first. Equals of several lines: either.

        Jobs of one line under different limits are equals as well.
        """
        if line_of(one) == line_of(other) and _names(one) == _names(other):
            return (-one.priority, self.places[one.id]) < (-other.priority, self.places[other.id])
        return one.priority > other.priority and not self._may_be_passed_over(one)

    def _may_be_passed_over(self, job: Job) -> bool:
        return bool(job.limits)

    def _has_room(self, job: Job, held: Counter[Name]) -> bool:
        return all(held[name] < self.sizes[name[0]] for name in _names(job))

    def _held(self) -> Counter[Name]:
        return Counter(name for job in self.jobs.values() if job.state.is_owned for name in _names(job))

    def _claimed(self, job: Job, fence: int) -> Claimed:
        changed: dict[str, Any] = {
            "fence": fence,
            "attempt": job.attempt + 1,
            "started_at": self.now,
            "progress": None,
        }
        owner = self.holdings[fence].worker
        owned = self.step(job, State.RUNNING, "started", "worker", actor=owner, **changed)
        assert owned.queued_at is not None
        times: dict[str, Any] = {"queued_at": owned.queued_at, "started_at": self.now}
        as_asked = {name: getattr(job, name) for name in _IN_A_CLAIM}
        return Claimed(lease=Lease(job.id, fence), attempt=owned.attempt, **times, **as_asked)


def _names(job: Job) -> list[Name]:
    return sorted((limit.name, limit.key) for limit in job.limits)
