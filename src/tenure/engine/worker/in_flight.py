"""Runs the attempts of one slot pool in their lanes; how each ended decides its next state in the pool.

An attempt halted because its lease is lost is forgotten. One halted for shutdown, or with no end of its own,
is handed back. The table of states is at the head of `slot_pool`.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from random import random

from tenure.core.model.durable import Suspension, wait_asked
from tenure.core.model.lease import Claimed
from tenure.core.model.outcome import Report
from tenure.core.model.retry import AttemptEnd, Crashed, Raised, Returned, WaitAsked, decide
from tenure.core.model.spec import Spec
from tenure.core.model.trail import Usage
from tenure.core.signals import Announce, Troubled
from tenure.core.values.failure import Failure
from tenure.engine.config import LeaseDeadlines
from tenure.engine.worker.held_attempt import HeldAttempt, StoreCalls
from tenure.engine.worker.slot_pool import SlotPool
from tenure.execution.handler.handler import AppFailed
from tenure.execution.lanes import LaneSet
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended, Interrupted, StopReason, Unstarted
from tenure.execution.protocol.assignment import Assignment, HandlerDatabase, ResourceLimits

LONGEST_PAUSE = 60.0
"""Seconds for which a worker claims nothing after it failed to start attempts several times in a row."""

Specs = Mapping[tuple[str, int], Spec]
"""The definitions that a worker serves, by key and version."""


class InFlight:
    """Starts attempts as slots become free."""

    def __init__(
        self,
        pool: SlotPool,
        lanes: LaneSet,
        specs: Specs,
        calls: StoreCalls,
        tasks: asyncio.TaskGroup,
        limits: ResourceLimits,
        *,
        lease: timedelta,
        on_signal: Announce,
    ) -> None:
        self._pool = pool
        self._lanes = lanes
        self._specs = specs
        self._calls = calls
        self._tasks = tasks
        self._limits = limits
        self._lease = lease
        self._on_signal = on_signal
        self._failed_starts = 0
        self._recover_at: float | None = None
        """When to try the lanes again after they failed to start an attempt; None while they work."""

    def take(self, claimed: Sequence[Claimed], deadlines: LeaseDeadlines) -> bool:
        """Run jobs that were just claimed, as soon as there are slots; returns whether any starts now."""
        for one in claimed:
            self._pool.add(HeldAttempt(one, deadlines, self._calls, self._on_signal))
        return self._fill() if claimed else False

    def decline(self, claimed: Sequence[Claimed], deadlines: LeaseDeadlines) -> None:
        """Do not run jobs that were just claimed."""
        for one in claimed:
            declined = HeldAttempt(one, deadlines, self._calls, self._on_signal)
            self._pool.give_back(declined, "it was claimed too late to begin")

    def mark_answered(self) -> None:
        """Note that the store has answered: attempts that wait may start."""
        self._pool.mark_answered()
        self._fill()

    async def recover_lanes(self) -> bool:
        """Make lanes ready that failed to start attempts, if it is time to try; returns whether they are."""
        if self._recover_at is None or time.monotonic() < self._recover_at:
            return False
        await self._lanes.ready()
        self._recover_at = None
        self._pool.reopen()
        return True

    def _fill(self) -> bool:
        has_started = False
        while (attempt := self._pool.start_next()) is not None:
            self._tasks.create_task(self._use_slot(attempt))
            has_started = True
        return has_started

    async def _use_slot(self, attempt: HeldAttempt | None) -> None:
        """Run one attempt after another while some wait: a task for each would cost more."""
        while attempt is not None:
            await self._run(attempt)
            attempt = self._pool.start_next()
            self._pool.note_change()

    async def _run(self, attempt: HeldAttempt) -> None:
        claimed = attempt.claimed
        spec = self._specs[claimed.definition, claimed.version]
        try:
            ended = await self._lanes.named(spec.lane).run(
                assignment(claimed, spec, self._limits, lease=self._lease),
                AttemptTerms(claimed.policy.timeout, claimed.policy.grace, attempt.stop, attempt),
            )
        except AppFailed as error:  # the app is broken, not the job
            ended = Ended(Unstarted(Failure("AppFailed", str(error))), Usage())
        except Exception as error:  # our own failure must cost neither the job nor the worker
            problem = Failure(type(error).__name__, f"the attempt could not be run: {error}")
            ended = Ended(Crashed(problem), Usage())
        if type(ended.end) is Returned:  # nearly all of them: no request to stop changes how it ended
            self._finish(attempt, ended.end, ended.usage)
        else:
            self._note(attempt, ended)

    def _note(self, attempt: HeldAttempt, ended: Ended) -> None:
        match ended.end, attempt.stop.reason:
            case ((None | Unstarted() | Interrupted()), StopReason.LOST):
                self._pool.lose(attempt)
            case Unstarted(error), asked:
                self._pool.give_back(attempt, f"{error.kind}: {error.message}")
                if asked is not StopReason.SHUTDOWN:
                    self._pause(error.message)
            case Interrupted(error), _:
                self._pool.give_back(attempt, f"{error.kind}: {error.message}", has_begun=True)
                self._on_signal(Troubled("lane", error.message, 1))
            case None, StopReason.SHUTDOWN:
                self._pool.give_back(attempt, "its worker ended before it", has_begun=True)
            case None, _:  # the lane killed it at its deadline, before this worker noticed
                self._pool.lose(attempt)
            case Raised(asked=WaitAsked() as asked), _:
                self._failed_starts = 0
                self._pool.suspend(attempt, Suspension(attempt.lease, wait_asked(asked), ended.usage))
            case end, _:
                self._finish(attempt, end, ended.usage)

    def _finish(self, attempt: HeldAttempt, end: AttemptEnd, usage: Usage) -> None:
        self._failed_starts = 0
        claimed = attempt.claimed
        outcome = decide(end, claimed.attempt, claimed.policy.retry, random)
        self._pool.finish(attempt, Report(attempt.lease, outcome, usage))

    def _pause(self, problem: str) -> None:
        """Claim nothing for a while, longer each time: every claim costs its job one of its hand-backs."""
        if self._recover_at is None:
            self._recover_at = time.monotonic() + min(2.0**self._failed_starts, LONGEST_PAUSE)
            self._failed_starts += 1
            self._pool.close(problem)
        self._on_signal(Troubled("lane", problem, self._failed_starts))


def assignment(
    claimed: Claimed,
    spec: Spec,
    usual: ResourceLimits,
    *,
    hook: str | None = None,
    error: Failure | None = None,
    lease: timedelta | None = None,
) -> Assignment:
    """What a child gets to know of a claimed job; `usual` are the limits where its definition has none.

    Only with a `lease`, whose length it is, can the handler have transactions of its own.
    """
    variables, database = spec.environment, None
    if spec.database is not None and lease is not None:
        variables = (*variables, spec.database)
        database = HandlerDatabase(spec.database, idle_ms=max(1, round(lease.total_seconds() * 500)))
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
        limits=_limits(spec.memory, spec.cpu, spec.files, variables, usual),
        database=database,
    )


@lru_cache(maxsize=1024)
def _limits(
    memory: int | None,
    cpu: int | None,
    files: int | None,
    environment: tuple[str, ...],
    usual: ResourceLimits,
) -> ResourceLimits:
    return ResourceLimits(
        memory=usual.memory if memory is None else memory or None,
        cpu=cpu,
        files=usual.files if files is None else files or None,
        file_size=usual.file_size,
        environment=environment,
    )
