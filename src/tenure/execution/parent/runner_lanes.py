"""The lanes whose attempts runners run: `warm`, `async` and `thread`."""

import asyncio
from abc import ABC, abstractmethod
from datetime import timedelta
from time import monotonic

from tenure.core.model.lanes import WARM
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended
from tenure.execution.parent.endings import Collateral, without_pipes
from tenure.execution.parent.patience import PATIENCE, STOP_HOOKS
from tenure.execution.parent.quarantine import Quarantine
from tenure.execution.parent.runner import Runner
from tenure.execution.parent.runner_attempt import RunnerAttempt
from tenure.execution.parent.zygote_client import ZygoteClient
from tenure.execution.parent.zygotes import Zygotes
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.messages import Begin

WARM_ATTEMPTS = 1_000
"""How many attempts a runner of the lane `warm` takes."""

WARM_AGE = timedelta(hours=1)
"""How long such a runner is used."""

MOST_OWN_RUNNERS = 16
"""How many suspected jobs run at a time in a runner of their own, which is a fork."""


class RunnerLane(ABC):
    """What these lanes have in common; `lane` is sent to their runners."""

    lane = ""
    is_shared = True

    def __init__(self, zygotes: Zygotes) -> None:
        self._zygotes = zygotes
        self._quarantine = Quarantine(MOST_OWN_RUNNERS)
        self._runners: set[Runner] = set()

    async def run(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run one attempt and return how it ended; when this returns, nothing of it is left.

        Raises `AppFailed` when a zygote had to be replaced and the app can no longer be imported. Cancelling
        this call kills the attempt at once, and with it its runner.
        """
        if (stopped := terms.stopped_early()) is not None:
            return stopped
        job = assignment.job
        if self._quarantine.includes(job) or self._zygotes.quarantine.includes(job):
            return await self._run_apart(assignment, terms)
        zygote = self._zygotes.current
        if zygote is None or not zygote.is_open:
            opened = await self._zygotes.opened_for(terms, is_apart=False)
            if isinstance(opened, Ended):
                return opened
            zygote = opened
        try:
            runner = self._runner_from(zygote)
        except OSError as error:
            return without_pipes(error)
        try:
            return await self._run_in(runner, assignment, terms)
        finally:
            self._release(runner)

    async def _run_apart(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run a suspected job: in a zygote of its own if one has died, or in a runner of its own."""
        job, quarantine = assignment.job, self._zygotes.quarantine
        with quarantine.room(job) as has_own_zygote, self._quarantine.room(job) as has_own_runner:
            zygote = await self._zygotes.opened_for(terms, is_apart=has_own_zygote)
            if isinstance(zygote, Ended):
                return zygote
            is_apart = has_own_zygote or has_own_runner
            try:
                runner = self._open(zygote) if is_apart else self._runner_from(zygote)
            except OSError as error:
                return without_pipes(error)
            try:
                return await self._run_in(runner, assignment, terms)
            finally:
                if is_apart:
                    runner.retire()
                else:
                    self._release(runner)
                if has_own_zygote:
                    await zygote.close()

    async def _run_in(self, runner: Runner, assignment: Assignment, terms: AttemptTerms) -> Ended:
        attempt = RunnerAttempt(runner, terms)
        runner.take(attempt, Begin(assignment, self._zygotes.own(assignment.limits.environment)))
        try:
            await attempt.over
        except asyncio.CancelledError:
            runner.kill(attempt)
            await runner.gone()
            raise
        job, has_ended = assignment.job, not isinstance(attempt.ending, Collateral)
        if has_ended or attempt.has_lost_its_runner:
            self._quarantine.judge(job, has_died=attempt.has_lost_its_runner)
        if has_ended or attempt.has_lost_its_zygote:
            self._zygotes.quarantine.judge(job, has_died=attempt.has_lost_its_zygote)
        ended = attempt.judged() if attempt.is_answered else await attempt.ended()
        return self._zygotes.explained(ended, assignment.limits.environment)

    async def retire(self) -> None:
        """Have every runner run the app's stop hooks and end."""
        for runner in self._runners:
            runner.retire()
        ends = [asyncio.ensure_future(runner.gone()) for runner in self._runners]
        if ends:
            await asyncio.wait(ends, timeout=STOP_HOOKS + PATIENCE)

    def _open(self, zygote: ZygoteClient) -> Runner:
        runner = Runner(zygote, self.lane, is_shared=self.is_shared)
        self._runners = {known for known in self._runners if not known.is_gone} | {runner}
        return runner

    @abstractmethod
    def _runner_from(self, zygote: ZygoteClient) -> Runner:
        """A runner that takes another attempt; raises `OSError` where there can be none."""

    def _release(self, runner: Runner) -> None:  # noqa: B027  (only some lanes need it)
        """Take note that an attempt has left this runner."""


class WarmLane(RunnerLane):
    """Each runner takes one attempt at a time. There are as many as were ever needed at once."""

    lane = WARM
    is_shared = False

    def __init__(self, zygotes: Zygotes) -> None:
        super().__init__(zygotes)
        self._idle: list[Runner] = []

    def _runner_from(self, zygote: ZygoteClient) -> Runner:
        while self._idle:
            runner = self._idle.pop()
            if runner.takes_from(zygote) and monotonic() - runner.born < WARM_AGE.total_seconds():
                return runner
            runner.retire()
        return self._open(zygote)

    def _release(self, runner: Runner) -> None:
        if runner.served >= WARM_ATTEMPTS or monotonic() - runner.born >= WARM_AGE.total_seconds():
            runner.retire()
        if runner.is_taking:
            self._idle.append(runner)


class SharedLane(RunnerLane):
    """One runner takes all attempts; when it has grown, another one takes new attempts."""

    def __init__(self, zygotes: Zygotes, lane: str) -> None:
        super().__init__(zygotes)
        self.lane = lane
        self._runner: Runner | None = None

    def _runner_from(self, zygote: ZygoteClient) -> Runner:
        if self._runner is None or not self._runner.takes_from(zygote):
            self._runner = self._open(zygote)
        return self._runner
