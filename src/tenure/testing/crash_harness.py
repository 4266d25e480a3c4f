"""A harness for one job that crashes once, and then goes on to whatever end it comes to."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from tenure.core.errors import TenureError
from tenure.core.model.durable import EffectAnswer, OpenWait, WaitKind
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.execution.child.process_life import ProcessLife
from tenure.execution.handler.handler import Handler
from tenure.execution.parent.attempt_terms import AttemptTerms
from tenure.execution.protocol.assignment import Assignment
from tenure.surfaces.library.app import Tenure
from tenure.testing.bound_runtime import HarnessStore
from tenure.testing.crash_points import Crash, CrashPoint
from tenure.testing.crashing_attempt import CrashingAttempt
from tenure.testing.effect_counts import EffectCounts
from tenure.testing.harness import Harness
from tenure.testing.harness_jobs import HarnessJob
from tenure.testing.inline_lane import Beat, InlineAttempt
from tenure.testing.shift import Endless
from tenure.testing.stages import PlainStage

MOST_MOVES = 1_000
"""How often a job may have to wait, for its time, a signal or an answer, until it counts as endless."""

SOMEBODY = "crash matrix"


class Helpers(NamedTuple):
    """What a job needs from outside: payloads of signals by name, and who says what has happened."""

    signals: Mapping[str, object]
    happened: Callable[[str], bool] | None


class RunResult(NamedTuple):
    """What became of a job that crashed, or of one that did not."""

    job: HarnessJob
    frames: list[str]
    has_crashed: bool
    starts: int
    effects: Counter[Hashable]


class CrashStage(PlainStage):
    """Begins a process anew after the crash, as far as there is one: with hooks, and with an event loop."""

    def __init__(self, life: ProcessLife, crash: Crash, counts: EffectCounts) -> None:
        super().__init__(life)
        self._crash = crash
        self._counts = counts
        self._is_over = False

    def _perform(self, attempt: InlineAttempt) -> None:
        super()._perform(attempt)
        if self._crash.has_struck and not self._is_over:
            self._is_over = True
            self.close()
            self._counts.unwound()


class CrashHarness(Harness):
    """Runs one job, and crashes it at a point."""

    def __init__(self, app: Tenure, at: datetime, point: CrashPoint | None, counts: EffectCounts) -> None:
        super().__init__(app, 1, at)
        self._counts = counts
        self._crash = Crash(point, counts.crash)
        self._stage = CrashStage(ProcessLife(lambda: app), self._crash, counts)
        self._job: UUID | None = None
        self._starts = 0
        self._worker.make_attempt = self._attempt
        self._worker.has_schedules = False  # what they would start is no part of the job

    def run(self, job: NewJob, helpers: Helpers) -> RunResult:
        """Run the job until nothing of it, and of its children, is left to do."""
        self._job = job.id
        self._counts.begin()
        self.app.enqueue_many_sync([job])
        for _ in range(MOST_MOVES):
            self.drain(rounds=MOST_MOVES)
            if not self._help(helpers) and not self._wait():
                return self._result()
        raise Endless(f"{self._what()} has waited {MOST_MOVES:,} times, and is not at its end")

    def _attempt(
        self, assignment: Assignment, handler: Handler, terms: AttemptTerms, beat: Beat
    ) -> InlineAttempt:
        if assignment.job != self._job or assignment.hook is not None:
            return InlineAttempt(assignment, handler, terms, beat)
        self._starts += 1
        return CrashingAttempt(self._crash, assignment, handler, terms, beat)

    def _wait(self) -> bool:
        """Go to the next time at which something is due; False if there is none."""
        due = self._ask(_next_due)
        if due is not None:
            self.advance(due)
        return due is not None

    def _help(self, helpers: Helpers) -> bool:
        """Send what jobs wait for; False if none waits for what is to be had."""
        waiting = [job.id for job in self.jobs(state=State.SUSPENDED)]
        waits = self._ask(lambda at: at.store.open_waits(waiting)) if waiting else {}
        return any(self._end(wait, helpers) for wait in waits.values())

    def _end(self, wait: OpenWait, helpers: Helpers) -> bool:
        if wait.kind is WaitKind.ANSWER:
            said = self._answer(wait, helpers)
            self._ask(lambda at: at.client.durable.answer(wait.job, said))
        elif wait.signal is not None and wait.signal in helpers.signals:
            self.app.signal_sync(wait.job, wait.signal, helpers.signals[wait.signal])
        elif wait.until is None and wait.signal is not None:
            raise TenureError(
                f"{self._what()} waits for the signal {wait.signal!r}, which nobody sends: "
                f"give signals={{{wait.signal!r}: …}}"
            )
        else:
            return False
        return True

    def _answer(self, wait: OpenWait, helpers: Helpers) -> EffectAnswer:
        """What somebody says who has looked: the test, or else what the frames before the crash tell."""
        seen = self._crash.seen(wait.step) if wait.job == self._job else None
        said = seen.happened if seen is not None else None
        if helpers.happened is not None:
            said = helpers.happened(wait.step)
        if said is None:
            raise TenureError(
                f"{self._what()} waits for an answer, and the matrix cannot know whether {wait.step!r} has "
                "happened: give happened=, a function that looks, such as lambda step: step in ledger"
            )
        answer = EffectAnswer(step=wait.step, happened=said, by=SOMEBODY)
        return replace(answer, result=seen.result) if seen is not None and seen.happened else answer

    def _result(self) -> RunResult:
        job = self.job(self._its_id())
        crash = self._crash
        return RunResult(job, crash.frames, crash.has_struck, self._starts, self._counts.since())

    def _its_id(self) -> UUID:
        assert self._job is not None  # noqa: S101  `run` has set it
        return self._job

    def _what(self) -> str:
        job = self.job(self._its_id())
        return f"{job.definition}@{job.version}"


async def _next_due(at: HarnessStore) -> timedelta | None:
    outlook = await at.store.outlook(())
    times = [time for time in (outlook.next_timer, outlook.next_expiry) if time is not None]
    return max(min(times) - outlook.now, timedelta(0)) if times else None
