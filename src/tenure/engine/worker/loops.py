"""The loops of one worker.

    dispatch     settle what ended, claim for free slots; one for each slot group
    heartbeat    prolong leases, learn what to stop
    fence        halt attempts whose lease may end soon
    record       write the output of attempts to the store, and have a heartbeat send their progress
    look, tidy   duties for all workers (in `upkeep/duty_loops`)
    lane         recover a lane that failed to start attempts
    arrivals     hints that jobs stand in line: poke the claimers
    stops        hints that a running job should stop: poke the heartbeat
    changes      hints that something happened: look sooner (in `upkeep/duty_loops`)

A worker that messages lead to jobs has the loops of those as well (`Triggers`).

Hints only shorten waits. Without them, `look` finds work within a poll, and the next heartbeat learns what to
stop. With them, an idle worker looks less often. If a hint is lost, because its process was killed between
commit and hint, the next look finds the same work.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from tenure.core.model.job import Enqueued, NewJob
from tenure.core.model.lanes import PROCESS
from tenure.core.model.lease import Lease
from tenure.core.signals import Announce, Recovered, Signal
from tenure.engine.client.client import JobClient
from tenure.engine.client.registry import Registry
from tenure.engine.config import WorkerConfig
from tenure.engine.durable.progress_keeper import ProgressKeeper
from tenure.engine.upkeep.duties import OnOutlook, ignore_outlook
from tenure.engine.upkeep.duty_loops import LISTEN_FOR, DutyLoops
from tenure.engine.upkeep.loop import Loop
from tenure.engine.worker.children import enqueue_children
from tenure.engine.worker.claimer import Claimer
from tenure.engine.worker.heartbeat import Heartbeat
from tenure.engine.worker.held_attempt import HeldAttempt, StoreCalls
from tenure.engine.worker.hooks import Hooks
from tenure.engine.worker.in_flight import Specs
from tenure.engine.worker.named_claims import NamedClaims, Triggers
from tenure.engine.worker.slot_groups import SlotGroup, slot_groups
from tenure.engine.worker.sweeps import Sweeps
from tenure.execution.lanes import LaneSet
from tenure.storage.contract.store import Store, Wakeups

RECORD_EVERY = 0.5


class WorkerLoops:
    """Builds the loops, and passes each call on to all claimers."""

    def __init__(
        self,
        store: Store,
        lanes: LaneSet,
        registry: Registry,
        config: WorkerConfig,
        tasks: asyncio.TaskGroup,
        *,
        on_signal: Announce,
        on_drain: Callable[[str], None],
        on_outlook: OnOutlook = ignore_outlook,
        triggers: Triggers | None = None,
    ) -> None:
        """`on_drain` runs when an operator wants the worker to claim no more."""
        self._progress = ProgressKeeper(store, config.worker, tasks)
        specs = {(spec.key, spec.version): spec for spec in registry.specs()}
        self._store = store
        self._client = JobClient(store, registry)
        self._config = config
        self._on_signal = on_signal
        self._triggers = triggers
        self._is_draining = False
        self.hooks = Hooks(lanes.named(PROCESS), store, specs, config, tasks, on_signal=on_signal)
        self._claimers = self._build_claimers(lanes, specs, tasks)
        self._heartbeat = Heartbeat(
            store,
            [claimer.pool for claimer in self._claimers],
            config,
            is_ready=lambda: self.is_ready,
            on_drain=lambda: on_drain("an operator asked for it"),
            on_signal=on_signal,
        )
        self._heartbeats = Loop("heartbeat", self._heartbeat.beat, self._on_loop_signal)
        self._loops = self._build_loops(on_outlook)

    def _build_claimers(self, lanes: LaneSet, specs: Specs, tasks: asyncio.TaskGroup) -> list[Claimer]:
        calls = StoreCalls(self._spawn, self._progress.answer)
        return [
            Claimer(
                *(self._store, lanes, specs, group, self._config, calls, tasks),
                send_progress=self._send_progress,
                on_signal=self._on_loop_signal,
                on_settled=self.hooks.on_settled,
                on_slow_claim=self._beat_now,
                sweeps=self._sweeps_of(group),
            )
            for group in slot_groups(specs.values(), self._config)
        ]

    def _sweeps_of(self, group: SlotGroup) -> Sweeps | None:
        return None if self._triggers is None else Sweeps(group.lines, self._config.sweep.total_seconds())

    def _build_loops(self, on_outlook: OnOutlook) -> tuple[Loop, ...]:
        on_signal = self._on_loop_signal
        duties = DutyLoops(
            self._store,
            self._config,
            on_signal=self._on_signal,
            on_loop_signal=on_signal,
            on_arrival=self._on_arrival,
            on_owed_hooks=self._on_owed_hooks,
            on_outlook=on_outlook,
            present=self._heartbeat.present,
            on_seen=self._heartbeat.on_seen,
        )
        return (
            *(claimer.loop for claimer in self._claimers),
            self._heartbeats,
            Loop("fence", self._heartbeat.halt_expiring, on_signal),
            Loop("record", self._record, on_signal),
            *duties.loops,
            Loop("lane", self._recover_lanes, on_signal),
            Loop("arrivals", lambda: _listen(self._store.listen(), self._on_arrival), on_signal),
            Loop("stops", lambda: _listen(self._store.listen(stops=True), self._beat_now), on_signal),
            *(() if self._triggers is None else self._triggers.loops(NamedClaims(self._claimers), on_signal)),
        )

    @property
    def is_ready(self) -> bool:
        """Whether every claim loop turned lately and claimed jobs can start."""
        return all(claimer.is_ready for claimer in self._claimers)

    @property
    def running(self) -> int:
        """How many attempts run now."""
        return sum(claimer.pool.running for claimer in self._claimers)

    @property
    def active(self) -> Iterator[str]:
        """The definition of each attempt that runs now."""
        return (one.claimed.definition for claimer in self._claimers for one in claimer.pool.active())

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""
        return sum(claimer.pool.waiting for claimer in self._claimers)

    @property
    def handed_back(self) -> int:
        """How many jobs were handed back so far."""
        return sum(claimer.handed_back for claimer in self._claimers)

    @property
    def held(self) -> int:
        """How many leases this worker holds."""
        return sum(len(claimer.pool.held()) for claimer in self._claimers)

    def drain(self) -> None:
        """Claim no more."""
        self._is_draining = True
        for claimer in self._claimers:
            claimer.drain()

    def halt(self) -> None:
        """Kill everything that runs."""
        for claimer in self._claimers:
            claimer.halt()
        self.hooks.halt()

    async def until_idle(self) -> None:
        """Wait until nothing runs or waits for a slot."""
        for claimer in self._claimers:
            await claimer.pool.idle.wait()

    async def settle(self) -> None:
        """Settle everything that has ended."""
        for claimer in self._claimers:
            await claimer.settle()

    async def give_back(self) -> None:
        """Hand back what was not started or was killed, even if its output cannot be recorded."""
        for claimer in self._claimers:
            await claimer.give_back()

    async def finish_messages(self) -> None:
        """Say what became of the jobs that messages have named."""
        if self._triggers is not None:
            await self._triggers.finish()

    def run(self) -> list[Coroutine[Any, Any, None]]:
        """The loops, to be run until they are cancelled."""
        return [loop.run() for loop in self._loops]

    def _on_loop_signal(self, signal: Signal) -> None:
        """When one loop works again, the others that pause after a failure try at once."""
        self._on_signal(signal)
        if isinstance(signal, Recovered):
            for loop in self._loops:
                loop.hurry()

    def _beat_now(self) -> None:
        self._heartbeat.hurry()
        self._heartbeats.poke()

    async def _send_progress(self, ended: Sequence[HeldAttempt]) -> None:
        await self._heartbeat.send_progress(ended)

    def _on_arrival(self) -> None:
        for claimer in self._claimers:
            claimer.on_arrival()

    async def _on_owed_hooks(self) -> None:
        if not self._is_draining:  # a worker that is about to end leaves these to others
            await self.hooks.follow_up(self._config.lines)

    async def _recover_lanes(self) -> float:
        for claimer in self._claimers:
            await claimer.recover_lanes()
        return self._config.poll_seconds

    async def _record(self) -> float:
        for claimer in self._claimers:
            await claimer.record()
            if any(attempt.unsent_progress is not None for attempt in claimer.pool.active()):
                self._beat_now()
        return RECORD_EVERY

    async def _spawn(self, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return await enqueue_children(self._store, self._client, self._config.worker, lease, jobs)


async def _listen(wakeups: AbstractAsyncContextManager[Wakeups], on_hint: Callable[[], None]) -> float:
    async with wakeups as hints:
        hints.call(on_hint)
        while True:
            await hints.wait(LISTEN_FOR)
