"""The attempts at one desk: those that run, and those that ended and wait to be settled.

A slot is free as soon as its attempt has ended; the outcome rides on the round trip that fills it again. An
attempt that was halted because its lease is gone leaves nothing behind. One that was halted for shutdown, or
has come to no end of its own, is handed back. What was claimed beyond the slots waits here, under its lease,
and begins when a slot is free.
"""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import random
from typing import NamedTuple
from uuid import UUID

from tenure.core.lease import Claimed, Lease
from tenure.core.outcome import Failure, Report
from tenure.core.retry import Crashed, decide
from tenure.core.signals import Announce, AttemptLost, AttemptStarted, Troubled
from tenure.core.spec import Spec
from tenure.core.trail import Trail, Usage
from tenure.engine.foresight import Foresight
from tenure.engine.lane import Lanes
from tenure.engine.manner import Hold
from tenure.engine.running import Running, Spawn
from tenure.engine.shares import Share
from tenure.execution.assignment import Assignment, Limits
from tenure.execution.halting import Ended, Halt, Interrupted, Unstarted
from tenure.execution.handler import AppFailed

LONGEST_PAUSE = 60.0
"""Seconds for which a worker claims nothing, after it could start nothing several times in a row."""

HELD_FOR = 1.0
"""Seconds after which what was claimed ahead and could not begin is left to others."""

Specs = Mapping[tuple[str, int], Spec]
"""The definitions that a worker serves, by key and version."""


class Done(NamedTuple):
    """An attempt that has ended, and what is to be told of it."""

    running: Running
    report: Report
    at: float


class Attempts:
    """Starts attempts in their lanes and gathers how they end."""

    def __init__(
        self,
        lanes: Lanes,
        specs: Specs,
        share: Share,
        spawn: Spawn,
        tasks: asyncio.TaskGroup,
        limits: Limits,
        *,
        ended: Callable[[], None],
        announce: Announce,
    ) -> None:
        """`ended` is called whenever an attempt has ended, or is given back without having begun."""
        self._lanes = lanes
        self._specs = specs
        self._share = share
        self._spawn = spawn
        self._tasks = tasks
        self._limits = limits
        self._ended = ended
        self._announce = announce
        self._foresight = Foresight(share.moment, share.most_ahead)
        self.running: dict[Lease, Running] = {}
        self.waiting: dict[Lease, Running] = {}
        self.done: dict[Lease, Done] = {}
        self.killed: dict[Lease, Running] = {}
        """Begun, and ended by no fault of its own that could be named: handed back."""
        self.unstarted: dict[Lease, Running] = {}
        """Claimed, and not to be run: handed back too."""
        self.is_stuck = False
        """The lane can start nothing: whatever were claimed would only be handed back."""
        self.mend_at = 0.0
        """When to try again, by the monotonic clock."""
        self.unanswered_since: float | None = None
        """Since when the store has left our claims without an answer, by the monotonic clock."""
        self._failures = 0
        self.idle = asyncio.Event()
        """Set while nothing runs or waits to."""
        self.idle.set()

    @property
    def ahead(self) -> int:
        """How many jobs may be held beyond those that run, just now."""
        if self._share.buffer is not None:
            return self._share.most_ahead
        young = time.monotonic() - self._foresight.within
        long = 0
        for running in self.running.values():  # the oldest comes first
            if running.since > young:
                break
            long += 1
        return self._foresight.ahead(self._share.slots - long)

    @property
    def room(self) -> int:
        """For how many more there is a slot, or a place to wait."""
        return self._share.slots + self.ahead - len(self.running) - len(self.waiting)

    @property
    def is_low(self) -> bool:
        """Whether no more than half of what may be held is held."""
        ahead = self.ahead
        return 2 * (self._share.slots + ahead - len(self.running) - len(self.waiting)) >= ahead

    def take(self, claimed: Sequence[Claimed], hold: Hold) -> None:
        """Run jobs that were just claimed, as soon as there are slots."""
        for one in claimed:
            self.waiting[one.lease] = Running(one, hold, self._spawn, self._announce)
        if claimed:
            self.idle.clear()
            self._fill()

    def decline(self, claimed: Sequence[Claimed], hold: Hold) -> None:
        """Do not run jobs that were just claimed."""
        for one in claimed:
            declined = Running(one, hold, self._spawn, self._announce)
            self._return(declined, "it was claimed too late to begin")

    @property
    def is_settled(self) -> bool:
        """Whether the store knows of everything that has ended."""
        return not (self.done or self.killed or self.unstarted)

    def held(self) -> list[Running]:
        """Everything under a lease of ours: what runs, what waits, and what has ended and is not settled."""
        return [*self.unended(), *(done.running for done in self.done.values())]

    def drop(self, job: UUID) -> None:
        """Tell the store no more of a job's attempt that has ended, or is to be given back."""
        ours = [lease for lease in (*self.done, *self.killed, *self.unstarted) if lease.job == job]
        for lease in ours:
            done, killed = self.done.pop(lease, None), self.killed.pop(lease, None)
            running = done.running if done else killed or self.unstarted.pop(lease)
            ended = done.at if done else time.monotonic() if killed else running.since
            self._announce(AttemptLost(running.claimed, fenced=False, took=ended - running.since, aside=True))

    def unended(self) -> list[Running]:
        """Whatever of it has nothing to report: what runs, what waits, and what is to be given back."""
        begun = [*self.running.values(), *self.killed.values()]
        return [*begun, *self.waiting.values(), *self.unstarted.values()]

    def sift(self) -> None:
        """Let go of what waits and was asked to stop: the store cancels it when it is handed back."""
        for lease, running in list(self.waiting.items()):
            match running.halting.asked:
                case None:
                    continue
                case Halt.LOST:
                    self._announce(AttemptLost(running.claimed, fenced=True))
                case _:
                    self._return(running, "it was asked to stop before it began")
            del self.waiting[lease]
            self._leave()

    def let_go(self) -> float:
        """Leave to others what has waited for too long; answers when the next one will have."""
        now = time.monotonic()
        if self._share.buffer is not None:
            return math.inf
        for lease, running in list(self.waiting.items()):
            left = running.since + HELD_FOR - now
            if left > 0:
                return left
            self._return(self.waiting.pop(lease), "it has waited too long for a slot")
        return math.inf

    def give_back_waiting(self) -> None:
        """Hand back, at the next turn, whatever has not begun."""
        self._return_waiting("its worker runs no more jobs")
        self._leave()

    def halt(self, why: Halt) -> None:
        """Halt whatever runs."""
        for running in self.running.values():
            running.halting.ask(why)

    def trails(self) -> list[Trail]:
        """What attempts have said and nobody has recorded."""
        return [running.take_trail() for running in self.held() if running.has_spoken]

    def put_back(self, trails: Sequence[Trail]) -> None:
        """Trails that could not be recorded, in the order in which they were said."""
        by_lease = {running.lease: running for running in self.held()} if trails else {}
        for trail in reversed(trails):
            if trail.lease in by_lease:
                by_lease[trail.lease].put_back(trail)

    def answered(self) -> None:
        """The store has answered: what is held may begin."""
        self.unanswered_since = None
        self._fill()

    def _fill(self) -> None:
        while (running := self._next()) is not None:
            self._tasks.create_task(self._use_slot(running))

    def _next(self) -> Running | None:
        """What is to begin now; None where nothing waits, or has to go on waiting."""
        if not self.waiting or len(self.running) >= self._share.slots or self._is_cut_off():
            return None
        running = self.waiting.pop(next(iter(self.waiting)))
        running.since = time.monotonic()
        self.running[running.lease] = running
        self._announce(AttemptStarted(running.claimed))
        return running

    def _is_cut_off(self) -> bool:
        """Whether a lease may run out before its outcome is told: what begins now would run twice."""
        since = self.unanswered_since
        return since is not None and time.monotonic() - since >= HELD_FOR

    async def _use_slot(self, running: Running | None) -> None:
        """Run one attempt after the other, for as long as some wait: a task for each would cost it more."""
        while running is not None:
            await self._run(running)
            del self.running[running.lease]
            running = self._next()
            self._leave()

    async def _run(self, running: Running) -> None:
        claimed = running.claimed
        spec = self._specs[claimed.definition, claimed.version]
        try:
            ended = await self._lanes.named(spec.lane).run(
                assignment(claimed, spec, self._limits),
                timeout=claimed.policy.timeout,
                grace=claimed.policy.grace,
                halt=running.halting,
                listener=running,
            )
        except AppFailed as error:  # it is the app that is broken, not the job
            ended = Ended(Unstarted(Failure("AppFailed", str(error))), Usage())
        except Exception as error:  # our own failure to run it must not lose it, nor the worker
            problem = Failure(type(error).__name__, f"the attempt could not be run: {error}")
            ended = Ended(Crashed(problem), Usage())
        self._note(running, ended)

    def _leave(self) -> None:
        if not self.running and not self.waiting:
            self.idle.set()
        self._ended()

    def _return(self, running: Running, why: str, *, has_begun: bool = False) -> None:
        """Have it handed back at the next turn."""
        running.returned_for = why
        (self.killed if has_begun else self.unstarted)[running.lease] = running

    def _return_waiting(self, why: str) -> None:
        for running in self.waiting.values():
            self._return(running, why)
        self.waiting.clear()

    def _note(self, running: Running, ended: Ended) -> None:
        claimed, lease = running.claimed, running.lease
        took = time.monotonic() - running.since
        match ended.end, running.halting.asked:
            case ((None | Unstarted() | Interrupted()), Halt.LOST):
                self._announce(AttemptLost(claimed, fenced=True, took=took))
            case Unstarted(error), asked:
                self._return(running, f"{error.kind}: {error.message}")
                if asked is not Halt.SHUTDOWN:
                    self._pause(error.message)
            case Interrupted(error), _:
                self._return(running, f"{error.kind}: {error.message}", has_begun=True)
                self._announce(Troubled("lane", error.message, 1))
            case None, Halt.SHUTDOWN:
                self._return(running, "its worker ended before it", has_begun=True)
            case None, _:  # killed at its deadline, before anybody here had noticed
                self._announce(AttemptLost(claimed, fenced=True, took=took))
            case end, _:
                self._failures = 0
                self._foresight.note(took)
                outcome = decide(end, claimed.attempt, claimed.policy.retry, random)
                self.done[lease] = Done(running, Report(lease, outcome, ended.usage), time.monotonic())

    def _pause(self, problem: str) -> None:
        """Claim nothing for a while, longer each time: every claim costs its job one of its hand-backs."""
        if not self.is_stuck:
            self.is_stuck = True
            self.mend_at = time.monotonic() + min(2.0**self._failures, LONGEST_PAUSE)
            self._failures += 1
            self._return_waiting(problem)
        self._announce(Troubled("lane", problem, self._failures))


def assignment(
    claimed: Claimed, spec: Spec, usual: Limits, *, hook: str | None = None, error: Failure | None = None
) -> Assignment:
    """What a child is told of a claimed job; `usual` are the limits where its definition has none."""
    return Assignment(
        job=claimed.lease.job,
        fence=claimed.lease.fence,
        attempt=claimed.attempt,
        definition=claimed.definition,
        version=claimed.version,
        queue=claimed.queue,
        namespace=claimed.namespace,
        params=claimed.params,
        hook=hook,
        error=error,
        traceparent=claimed.traceparent,
        limits=_limits(spec.memory, spec.cpu, spec.files, spec.environment, usual),
    )


@lru_cache(maxsize=1024)
def _limits(
    memory: int | None, cpu: int | None, files: int | None, environment: tuple[str, ...], usual: Limits
) -> Limits:
    return Limits(
        memory=usual.memory if memory is None else memory or None,
        cpu=cpu,
        files=usual.files if files is None else files or None,
        file_size=usual.file_size,
        environment=environment,
    )
