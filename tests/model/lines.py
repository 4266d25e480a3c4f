"""Lines in the model: which jobs may be claimed, under which limits, and whether a store claims correctly."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from tenure.core.model.job import Job
from tenure.core.model.lease import Claimed, Lease, Line, Order
from tenure.core.model.limit import Limit, LimitUse
from tenure.core.model.states import State
from tenure.core.reports.operations import LineStatus, Pause, PauseScope
from tenure.storage.mapping.aging import STEP
from tests.model.decisions import line_of
from tests.model.record import Holding, Record

_IN_A_CLAIM = ("namespace", "definition", "version", "queue", "params", "policy", "traceparent")

Name = tuple[str, str]
"""A limit and one of its keys."""

Place = tuple[Line, tuple[Name, ...], int]
"""Where jobs stand one behind the other: a line, limits and a priority."""


class Lines(Record):
    """The verbs for lines and limits, and claims."""

    def __init__(self, now: datetime, visited: Callable[[str], None]) -> None:
        super().__init__(now, visited)
        self.known_lines: set[Line] = set()
        self._named: set[Name] = set()
        self._pauses: dict[PauseScope, Pause] = {}
        self._waited: dict[Place, int] = {}

    def set_limit(self, name: str, size: int) -> None:
        used = max((n for (used, _), n in self._held().items() if used == name), default=0)
        before = self.sizes.get(name)
        self.visited_if(before is None, "set_limit: before any job named it")
        self.visited_if(before is not None and size > before, "set_limit: raised")
        self.visited_if(size < used, "set_limit: lowered below what runs")
        self.sizes[name] = size

    def limits(self) -> list[LimitUse]:
        held = self._held()
        unnamed = self.sizes.keys() - {name for name, _ in self._named}
        listed = self._named | {(name, "") for name in unnamed}
        return [LimitUse(*name, self.sizes[name[0]], held[name]) for name in sorted(listed)]

    def bring(self, line: Line, limits: Sequence[Limit]) -> None:
        """A new job names its line and its limits; the first to bring a limit sets its size."""
        self.known_lines.add(line)
        for limit in limits:
            size = self.sizes.setdefault(limit.name, limit.size)
            self.visited_if(size != limit.size, "enqueue: limit has another size")
            self._named.add((limit.name, limit.key))

    def pause(self, scope: PauseScope, *, until: datetime | None, by: str, reason: str) -> None:
        self.visited_if(self._in_force(scope), "pause: replaced")
        self._pauses[scope] = Pause(scope=scope, at=self.now, until=until, by=by, reason=reason)

    def resume(self, scope: PauseScope) -> bool:
        was_paused = self._in_force(scope) is not None
        is_over = self._pauses.pop(scope, None) is not None and not was_paused
        what = "line" if scope.version else "definition" if scope.definition else "queue"
        self.visited(f"resume: {what} {'was paused' if was_paused else 'was not paused'}")
        self.visited_if(is_over, "resume: pause was over")
        return was_paused

    def lines(self) -> list[LineStatus]:
        own = [scope for scope in self._pauses if scope.version and scope.queue and self._in_force(scope)]
        paused = {Line(scope.queue, scope.definition, scope.version) for scope in own}
        return [self._status(line) for line in sorted(self.known_lines | paused)]

    def _status(self, line: Line) -> LineStatus:
        jobs = [job for job in self.jobs.values() if line_of(job) == line]
        queued = [job.queued_at for job in jobs if job.state is State.QUEUED and job.queued_at]
        return LineStatus(
            line=line,
            counts=Counter(job.state for job in jobs),
            oldest=min(queued, default=None),
            pause=next(filter(None, map(self._in_force, scopes_of(line))), None),
            workers=0,
        )

    def claimable(self, lines: Collection[Line]) -> list[Job]:
        """The queued jobs of lines that could be claimed now, each by itself."""
        held = self._held()
        return [job for job in self._in_line(lines) if self._has_room(job, held)]

    def claim(self, order: Order, chosen: Sequence[Claimed]) -> list[Claimed]:
        free = self._in_line(order.lines)
        taken = [self.jobs[claimed.lease.job] for claimed in chosen]
        self._note_waits(free)
        self._follow_claim(taken, free, order.limit)
        self._tell_of_pauses(taken, order.lines)
        lines_by_priority = {(job.priority, line_of(job)) for job in free}
        priorities = {job.priority for job in free}
        self.visited_if(len(priorities) > 1, "claim: several priorities")
        self.visited_if(len(lines_by_priority) > len(priorities), "claim: lines of equal priority")
        # A store may have to claim more than once to find all that there is room for.
        fences = [claimed.lease.fence for claimed in chosen]
        assert all(fence > max(self.holdings, default=0) for fence in fences), "claim: the fence did not grow"
        assert fences == sorted(fences), "claim: the fence grows from one claim to the next"
        for fence in fences:
            self.holdings[fence] = Holding(order.worker, self.now + order.lease_for, self.now)
        return [self._claimed(job, fence) for job, fence in zip(taken, fences, strict=True)]

    def _in_line(self, lines: Collection[Line]) -> list[Job]:
        return [job for job in self._queued(lines) if not self._is_paused(job)]

    def _queued(self, lines: Collection[Line]) -> list[Job]:
        return [job for job in self.jobs.values() if job.state is State.QUEUED and line_of(job) in lines]

    def _is_paused(self, job: Job) -> bool:
        return any(map(self._in_force, scopes_of(line_of(job))))

    def _was_paused(self, job: Job) -> bool:
        return any(scope in self._pauses for scope in scopes_of(line_of(job)))

    def _in_force(self, scope: PauseScope) -> Pause | None:
        pause = self._pauses.get(scope)
        return pause if pause and (pause.until is None or pause.until > self.now) else None

    def _tell_of_pauses(self, taken: list[Job], lines: Collection[Line]) -> None:
        for job in self._queued(lines):
            own, *_, of_definition, of_queue = scopes_of(line_of(job))
            self.visited_if(taken and self._in_force(own), "claim: paused line passed over")
            self.visited_if(taken and self._in_force(of_definition), "claim: paused definition passed over")
            self.visited_if(taken and self._in_force(of_queue), "claim: paused queue passed over")
        self.visited_if(any(map(self._was_paused, taken)), "claim: pause is over")

    def _follow_claim(self, taken: list[Job], free: list[Job], limit: int) -> None:
        """Check that no job was taken without room or before its turn, and none forgotten.

        A store may believe that a limit has no room, or a pause still holds, and so pass jobs over until it
        looks again. No other job may suffer more from it than to lose the place of such a one.
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
        """Higher priority first; then, in one line, the job queued first. Equals of several lines: either.

        Jobs of one line under different limits are equals as well. So are two if the less urgent may
        have waited long enough: only some claims go by age, and a store may go by what it knew a while ago.
        """
        place, other_place = _place(one), _place(other)
        if place == other_place:
            return self.places[one.id] < self.places[other.id]
        if one.priority <= other.priority or one.priority < other.priority + self._waited[other_place]:
            return False
        return place[:2] == other_place[:2] or not self._may_be_passed_over(one)

    def _note_waits(self, free: list[Job]) -> None:
        """Keep the largest number of steps that a job has waited at a place."""
        for job in free:
            assert job.queued_at is not None
            waited = (self.now - job.queued_at) // STEP
            self._waited[_place(job)] = max(waited, self._waited.get(_place(job), 0))

    def _may_be_passed_over(self, job: Job) -> bool:
        return bool(job.limits) or self._was_paused(job)

    def _has_room(self, job: Job, held: Counter[Name]) -> bool:
        return all(held[name] < self.sizes[name[0]] for name in _names(job))

    def _held(self) -> Counter[Name]:
        return Counter(name for job in self.jobs.values() if job.state.is_owned for name in _names(job))

    def _claimed(self, job: Job, fence: int) -> Claimed:
        changed: dict[str, Any] = {
            "fence": fence,
            "attempt": job.attempt + 1,
            "started_at": self.now,
            "progress": job.progress if job.suspensions else None,
        }
        owner = self.holdings[fence].worker
        owned = self.step(job, State.RUNNING, "started", "worker", actor=owner, **changed)
        assert owned.queued_at is not None
        times: dict[str, Any] = {"queued_at": owned.queued_at, "started_at": self.now}
        as_requested = {name: getattr(job, name) for name in _IN_A_CLAIM}
        return Claimed(lease=Lease(job.id, fence), attempt=owned.attempt, **times, **as_requested)


def scopes_of(line: Line) -> list[PauseScope]:
    """The pauses that may hold a line, the narrowest first."""
    queue, definition, version = line.queue, line.definition, line.version
    return [
        PauseScope(queue, definition, version),
        PauseScope("", definition, version),
        PauseScope(queue, definition),
        PauseScope("", definition),
        PauseScope(queue),
    ]


def _place(job: Job) -> Place:
    return line_of(job), tuple(_names(job)), job.priority


def _names(job: Job) -> list[Name]:
    return sorted((limit.name, limit.key) for limit in job.limits)
