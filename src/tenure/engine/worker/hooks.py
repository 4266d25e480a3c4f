"""Hooks that follow a job's steps: each runs in its own child, after the step's commit, at most once.

`on_start` is not here: it runs in the attempt's own child. The owner of an attempt runs the hooks of the
outcome that it reported. Jobs that end otherwise (cancelled before a claim, handed back, given up, or taken
from a lost worker) are owed their hooks: the store gives each job to one worker that serves its definition.
A failed hook is an event of the job and changes no outcome. The output of a hook is added to the job's record
when the hook has ended: it has no lease and changes no state. A hook is lost with its worker.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress

from tenure.core.errors import StoreError, TenureError
from tenure.core.model.job import Job
from tenure.core.model.lease import Claimed, Lease, Line
from tenure.core.model.outcome import Recoverable, Unrecoverable
from tenure.core.model.retry import Crashed, OutOfMemory, Raised, Returned, TimedOut, WasStopped
from tenure.core.model.states import State
from tenure.core.model.trail import Note
from tenure.core.signals import Announce, AttemptSettled, HookFailed
from tenure.core.values import documents
from tenure.core.values.failure import Failure
from tenure.engine.config import WorkerConfig
from tenure.engine.worker.hook_output import HookOutput
from tenure.engine.worker.in_flight import Specs, assignment
from tenure.execution.lanes import Lane
from tenure.execution.parent.attempt_terms import (
    AttemptTerms,
    Ended,
    Interrupted,
    StopReason,
    StopRequest,
    Unstarted,
)
from tenure.execution.protocol.limits import MEMORY
from tenure.storage.contract.store import Store

AFTER: dict[State, tuple[str, ...]] = {
    State.RETRYING: ("on_retry",),
    State.SUCCEEDED: ("on_success", "on_end"),
    State.FAILED: ("on_fail", "on_end"),
    State.BURIED: ("on_fail", "on_end"),
    State.CANCELLED: ("on_end",),
}
"""Which hooks follow a step, in order."""

MOST_WAITING = 1_000
"""How many jobs' hooks may wait or run: slow hooks would otherwise pile up without end."""


class Hooks:
    """Runs hooks beside the slots, as many at once as there are slots."""

    def __init__(
        self,
        lane: Lane,
        store: Store,
        specs: Specs,
        config: WorkerConfig,
        tasks: asyncio.TaskGroup,
        *,
        on_signal: Announce,
    ) -> None:
        self._lane = lane
        self._store = store
        self._specs = specs
        self._limits = config.limits
        self._tasks = tasks
        self._on_signal = on_signal
        self._stops: set[StopRequest] = set()
        """One for each job whose hooks wait or run."""
        self._is_halted = False
        self._slots = asyncio.Semaphore(config.slots)
        self.idle = asyncio.Event()
        self.idle.set()

    def on_settled(self, settled: AttemptSettled) -> None:
        """Start the hooks of an outcome that is on record."""
        outcome = settled.report.outcome
        error = outcome.error if isinstance(outcome, Recoverable | Unrecoverable) else None
        self._start(settled.claimed, settled.state, error)

    async def follow_up(self, lines: Collection[Line]) -> None:
        """Start hooks that are owed to jobs of these lines, as many as there is room for."""
        room = MOST_WAITING - len(self._stops)
        if room <= 0 or self._is_halted:
            return
        for job in await self._store.follow_up(lines, room):
            try:
                ended = await self._store.get(job)
            except StoreError as problem:
                # No other worker will get this job's hooks; the other jobs can still be read.
                self._on_signal(HookFailed(str(job), "on_end", str(problem)))
            else:
                if ended is not None:
                    self._start(_as_claimed(ended), ended.state, ended.error)

    def halt(self) -> None:
        """Kill every hook that runs and start no more: a worker that ends waits for no hook."""
        self._is_halted = True
        for stop in self._stops:
            stop.ask(StopReason.SHUTDOWN)

    def _start(self, claimed: Claimed, state: State, error: Failure | None) -> None:
        spec = self._specs.get((claimed.definition, claimed.version))
        if spec is None or not spec.hooks:  # most have none
            return
        names = [name for name in AFTER.get(state, ()) if name in spec.hooks]
        if not names or self._is_halted:
            return
        if len(self._stops) >= MOST_WAITING:
            self._on_signal(_failed(claimed, names[0], "left out: too many hooks wait"))
        else:
            stop = StopRequest()
            self._stops.add(stop)
            self.idle.clear()
            self._tasks.create_task(self._run(claimed, names, error, stop))

    async def _run(
        self, claimed: Claimed, names: list[str], error: Failure | None, stop: StopRequest
    ) -> None:
        try:
            async with self._slots:
                for name in names:
                    if not self._is_halted:
                        await self._run_guarded(claimed, name, error, stop)
        finally:
            self._stops.discard(stop)
            if not self._stops:
                self.idle.set()

    async def _run_guarded(
        self, claimed: Claimed, name: str, error: Failure | None, stop: StopRequest
    ) -> None:
        try:
            await self._run_one(claimed, name, error, stop)
        except Exception as problem:  # a failing hook must stop neither its worker nor the next hook
            self._on_signal(_failed(claimed, name, str(problem)))

    async def _run_one(self, claimed: Claimed, name: str, error: Failure | None, stop: StopRequest) -> None:
        spec = self._specs[claimed.definition, claimed.version]
        output = HookOutput(self._store, claimed, self._on_signal)
        ended = await self._lane.run(
            assignment(claimed, spec, self._limits, hook=name, error=error),
            AttemptTerms(claimed.policy.timeout, claimed.policy.grace, stop, output),
        )
        try:
            await output.save()
        except TenureError as unsaved:  # the next hook runs in any case
            self._on_signal(_failed(claimed, name, f"its output could not be saved: {unsaved}"))
        if (problem := _problem(ended)) is not None:
            self._on_signal(_failed(claimed, name, f"{problem.kind}: {problem.message}"))
            payload = {"hook": name, "kind": problem.kind, "message": problem.message}
            with suppress(StoreError):  # the next hook runs in any case
                await self._store.annotate(claimed.lease, Note("hook_failed", documents.write(payload)))


def _failed(claimed: Claimed, hook: str, error: str) -> HookFailed:
    return HookFailed(str(claimed.lease.job), hook, error, claimed)


def _problem(ended: Ended) -> Failure | None:
    match ended.end:
        case None | Returned():
            return None
        case Raised(error) | Crashed(error) | Unstarted(error) | Interrupted(error):
            return error
        case TimedOut(after):
            return Failure("TimedOut", f"the hook had not ended after {after}")
        case OutOfMemory():
            return Failure("OutOfMemory", f"the hook took more memory than it may; {MEMORY}")
        case WasStopped():
            return Failure("Stopped", "the hook was stopped")


def _as_claimed(job: Job) -> Claimed:
    return Claimed(
        lease=Lease(job.id, job.fence),
        namespace=job.namespace,
        definition=job.definition,
        version=job.version,
        queue=job.queue,
        params=job.params,
        policy=job.policy,
        attempt=job.attempt,
        traceparent=job.traceparent,
        queued_at=job.queued_at or job.created_at,
        started_at=job.started_at or job.created_at,
    )
