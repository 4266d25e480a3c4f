"""The lanes whose attempts are run by runners: `warm`, `async` and `thread`."""

import asyncio
from abc import ABC, abstractmethod
from datetime import timedelta
from time import monotonic

from tenure.core.outcome import Failure
from tenure.core.retry import WasStopped
from tenure.core.trail import Usage
from tenure.execution.assignment import Assignment
from tenure.execution.endings import Swept
from tenure.execution.guest import Guest
from tenure.execution.halting import Ended, Halt, Halting, Listener, Unstarted
from tenure.execution.nurseries import Nurseries, end_without_a_child, opened_before
from tenure.execution.nursery import Nursery
from tenure.execution.protocol import Begin
from tenure.execution.runner import Runner
from tenure.execution.suspects import Suspects

MOST_JOBS = 1_000
"""How many attempts a runner of the lane `warm` takes."""

OLDEST = timedelta(hours=1)
"""How long it is used."""

MOST_APART = 16
"""How many suspects are run at a time in a runner of their own, which is a fork."""


class RunnerLane(ABC):
    """What these lanes have in common; `lane` is what their runners are told to be."""

    lane = ""
    is_shared = True

    def __init__(self, nurseries: Nurseries) -> None:
        self._nurseries = nurseries
        self._suspects = Suspects(MOST_APART)

    async def run(
        self,
        assignment: Assignment,
        *,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        """Run one attempt and say how it ended; when this returns, nothing of it is left.

        Raises `AppFailed` when a zygote had to be replaced and the app can no longer be imported. Cancelling
        this call kills the attempt at once, and with it its runner.
        """
        if halt.asked is not None:
            return Ended(WasStopped() if halt.asked is Halt.CANCELLED else None, Usage())
        job = assignment.job
        if self._suspects.include(job) or self._nurseries.suspects.include(job):
            return await self._run_apart(assignment, timeout, grace, halt, listener)
        nursery = self._nurseries.current
        if nursery is None or not nursery.is_open:
            nursery = await opened_before(self._nurseries.replaced(), halt, timeout)
            if nursery is None:
                return Ended(end_without_a_child(halt, timeout), Usage())
        try:
            runner = self._room(nursery)
        except OSError as error:
            return _unstarted(error)
        try:
            return await self._stay(runner, assignment, timeout, grace, halt, listener)
        finally:
            self._leave(runner)

    async def _run_apart(
        self, assignment: Assignment, timeout: timedelta, grace: timedelta, halt: Halting, listener: Listener
    ) -> Ended:
        """Run a suspect: in a zygote of its own if one has died, or in a runner of its own."""
        job, suspects = assignment.job, self._nurseries.suspects
        with suspects.room(job) as has_own_zygote, self._suspects.room(job) as has_own_runner:
            opening = self._nurseries.apart() if has_own_zygote else self._nurseries.replaced()
            nursery = await opened_before(opening, halt, timeout)
            if nursery is None:
                return Ended(end_without_a_child(halt, timeout), Usage())
            is_apart = has_own_zygote or has_own_runner
            try:
                runner = self._open(nursery) if is_apart else self._room(nursery)
            except OSError as error:
                return _unstarted(error)
            try:
                return await self._stay(runner, assignment, timeout, grace, halt, listener)
            finally:
                if is_apart:
                    runner.retire()
                else:
                    self._leave(runner)
                if has_own_zygote:
                    await nursery.close()

    async def _stay(
        self,
        runner: Runner,
        assignment: Assignment,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        guest = Guest(runner, listener, halt, timeout, grace)
        runner.take(guest, Begin(assignment, self._nurseries.own(assignment.limits.environment)))
        try:
            await guest.over
        except asyncio.CancelledError:
            runner.kill(guest)
            await runner.gone()
            raise
        job, has_ended = assignment.job, not isinstance(guest.ending, Swept)
        if has_ended or guest.has_lost_its_runner:
            self._suspects.judge(job, has_died=guest.has_lost_its_runner)
        if has_ended or guest.has_lost_its_zygote:
            self._nurseries.suspects.judge(job, has_died=guest.has_lost_its_zygote)
        return await guest.ended()

    def _open(self, nursery: Nursery) -> Runner:
        return Runner(nursery, self.lane, is_shared=self.is_shared)

    @abstractmethod
    def _room(self, nursery: Nursery) -> Runner:
        """A runner that takes another attempt; raises `OSError` where there can be none."""

    def _leave(self, runner: Runner) -> None:  # noqa: B027  (not every lane wants to know)
        """An attempt is over in this runner."""


class WarmLane(RunnerLane):
    """Each runner takes one attempt at a time. There are as many as were ever needed at once."""

    lane = "warm"
    is_shared = False

    def __init__(self, nurseries: Nurseries) -> None:
        super().__init__(nurseries)
        self._idle: list[Runner] = []

    def _room(self, nursery: Nursery) -> Runner:
        while self._idle:
            runner = self._idle.pop()
            if runner.takes_from(nursery) and monotonic() - runner.born < OLDEST.total_seconds():
                return runner
            runner.retire()
        return self._open(nursery)

    def _leave(self, runner: Runner) -> None:
        if runner.served >= MOST_JOBS or monotonic() - runner.born >= OLDEST.total_seconds():
            runner.retire()
        if runner.is_taking:
            self._idle.append(runner)


class SharedLane(RunnerLane):
    """All attempts are in one runner; when that has grown, another one takes those that come."""

    def __init__(self, nurseries: Nurseries, lane: str) -> None:
        super().__init__(nurseries)
        self.lane = lane
        self._runner: Runner | None = None

    def _room(self, nursery: Nursery) -> Runner:
        if self._runner is None or not self._runner.takes_from(nursery):
            self._runner = self._open(nursery)
        return self._runner


def _unstarted(error: OSError) -> Ended:
    return Ended(Unstarted(Failure("NotStarted", f"no pipes could be made for it: {error}")), Usage())
