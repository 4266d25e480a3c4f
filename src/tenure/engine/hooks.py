"""Hooks on a job's way: each in a child of its own, after the commit that it speaks of, at most once.

`on_start` is not here: it runs in the attempt's own child. The owner of an attempt runs the hooks of the
outcome that it has reported. Jobs that end otherwise (cancelled while nobody had them, handed back, given up,
or taken from a lost worker) are owed theirs: the store gives each to one worker that serves the definition.
A hook that fails is an event of the job and changes no outcome. What it logs and emits is added to the job's
record when it has ended: no lease stands behind it any more, and it moves nothing. A hook is a courtesy: it
is lost with its worker.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress

from tenure.core import documents
from tenure.core.errors import StoreError, TenureError
from tenure.core.job import Job
from tenure.core.lease import Claimed, Lease, Line
from tenure.core.outcome import Failure, Recoverable, Unrecoverable
from tenure.core.retry import Crashed, OutOfMemory, Raised, Returned, TimedOut, WasStopped
from tenure.core.signals import Announce, AttemptSettled, HookFailed
from tenure.core.states import State
from tenure.core.trail import Note
from tenure.engine.aftermath import Aftermath
from tenure.engine.attempts import Specs, assignment
from tenure.engine.lane import Lane
from tenure.engine.manner import Manner
from tenure.execution.halting import Ended, Halt, Halting, Interrupted, Unstarted
from tenure.execution.limits import MEMORY
from tenure.storage.contract import Store

AFTER: dict[State, tuple[str, ...]] = {
    State.RETRYING: ("on_retry",),
    State.SUCCEEDED: ("on_success", "on_end"),
    State.FAILED: ("on_fail", "on_end"),
    State.BURIED: ("on_fail", "on_end"),
    State.CANCELLED: ("on_end",),
}
"""Which hooks follow a step, in order."""

MOST_WAITING = 1_000
"""How many jobs' hooks may wait or run. Where they take longer than the jobs, there would be ever more."""


class Hooks:
    """Runs hooks beside the slots, as many at once as there are slots."""

    def __init__(
        self,
        lane: Lane,
        store: Store,
        specs: Specs,
        manner: Manner,
        tasks: asyncio.TaskGroup,
        announce: Announce,
    ) -> None:
        self._lane = lane
        self._store = store
        self._specs = specs
        self._limits = manner.limits
        self._tasks = tasks
        self._announce = announce
        self._halts: set[Halting] = set()
        self._is_halted = False
        self._room = asyncio.Semaphore(manner.slots)
        self.idle = asyncio.Event()
        self.idle.set()

    def after(self, settled: AttemptSettled) -> None:
        """An outcome is on record."""
        outcome = settled.report.outcome
        error = outcome.error if isinstance(outcome, Recoverable | Unrecoverable) else None
        self._start(settled.claimed, settled.state, error)

    async def follow_up(self, lines: Collection[Line]) -> None:
        """Run the hooks that are owed to jobs of these lines, as many as there is room for."""
        room = MOST_WAITING - len(self._halts)
        if room <= 0 or self._is_halted:
            return
        for job in await self._store.follow_up(lines, room):
            try:
                ended = await self._store.get(job)
            except StoreError as problem:
                # It was given to us, and to nobody else ever again; the others still can be looked at.
                self._announce(HookFailed(str(job), "on_end", str(problem)))
            else:
                if ended is not None:
                    self._start(_as_claimed(ended), ended.state, ended.error)

    def halt(self) -> None:
        """Kill whatever runs, and start nothing more: a worker that ends waits for no hook."""
        self._is_halted = True
        for halting in self._halts:
            halting.ask(Halt.SHUTDOWN)

    def _start(self, claimed: Claimed, state: State, error: Failure | None) -> None:
        spec = self._specs.get((claimed.definition, claimed.version))
        if spec is None or not spec.hooks:  # as most have none
            return
        names = [name for name in AFTER.get(state, ()) if name in spec.hooks]
        if not names or self._is_halted:
            return
        if len(self._halts) >= MOST_WAITING:
            self._announce(_failed(claimed, names[0], "left out: too many hooks wait"))
        else:
            halting = Halting()
            self._halts.add(halting)
            self.idle.clear()
            self._tasks.create_task(self._run(claimed, names, error, halting))

    async def _run(self, claimed: Claimed, names: list[str], error: Failure | None, halting: Halting) -> None:
        try:
            async with self._room:
                for name in names:
                    if not self._is_halted:
                        await self._tried(claimed, name, error, halting)
        finally:
            self._halts.discard(halting)
            if not self._halts:
                self.idle.set()

    async def _tried(self, claimed: Claimed, name: str, error: Failure | None, halting: Halting) -> None:
        try:
            await self._run_one(claimed, name, error, halting)
        except Exception as problem:  # a hook must not take its worker down, nor keep the next from its turn
            self._announce(_failed(claimed, name, str(problem)))

    async def _run_one(self, claimed: Claimed, name: str, error: Failure | None, halting: Halting) -> None:
        spec = self._specs[claimed.definition, claimed.version]
        aftermath = Aftermath(self._store, claimed, self._announce)
        ended = await self._lane.run(
            assignment(claimed, spec, self._limits, hook=name, error=error),
            timeout=claimed.policy.timeout,
            grace=claimed.policy.grace,
            halt=halting,
            listener=aftermath,
        )
        try:
            await aftermath.keep()
        except TenureError as unkept:  # whether it can be kept or not, the next hook has its turn
            self._announce(_failed(claimed, name, f"what it said could not be kept: {unkept}"))
        if (problem := _problem(ended)) is not None:
            self._announce(_failed(claimed, name, f"{problem.kind}: {problem.message}"))
            payload = {"hook": name, "kind": problem.kind, "message": problem.message}
            # Whether it can be noted or not, the next hook has its turn.
            with suppress(StoreError):
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
