"""Claims for one slot group: owns its slot pool, its attempts, and the loop that fills it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from uuid import UUID

from tenure.core.model.claim_by_id import TheseClaimed
from tenure.core.signals import Announce, AttemptSettled
from tenure.engine.config import WorkerConfig
from tenure.engine.upkeep.loop import Loop
from tenure.engine.worker.dispatcher import Dispatcher, SendProgress
from tenure.engine.worker.held_attempt import StoreCalls
from tenure.engine.worker.in_flight import InFlight, Specs
from tenure.engine.worker.slot_groups import SlotGroup
from tenure.engine.worker.slot_pool import SlotPool
from tenure.engine.worker.sweeps import Sweeps
from tenure.engine.worker.trail_recorder import TrailRecorder
from tenure.execution.lanes import LaneSet
from tenure.storage.contract.store import Store

READY_FOR = 3.0
"""Ready if the claim loop turned within this many seconds, or within three polls if that is longer."""


class Claimer:
    """Claims for one slot group; the callbacks are those of `Dispatcher`."""

    def __init__(
        self,
        store: Store,
        lanes: LaneSet,
        specs: Specs,
        group: SlotGroup,
        config: WorkerConfig,
        calls: StoreCalls,
        tasks: asyncio.TaskGroup,
        *,
        send_progress: SendProgress,
        on_signal: Announce,
        on_settled: Callable[[AttemptSettled], None],
        on_slow_claim: Callable[[], None],
        sweeps: Sweeps | None = None,
    ) -> None:
        self._sweeps = sweeps
        self._ready_for = max(READY_FOR, 3 * config.poll_seconds)
        self.pool = SlotPool(group, on_signal=on_signal, on_change=self._on_change)
        self._in_flight = InFlight(
            *(self.pool, lanes, specs, calls, tasks, config.limits), lease=config.lease, on_signal=on_signal
        )
        self._recorder = TrailRecorder(store, config.worker, self.pool)
        self._dispatcher = Dispatcher(
            *(store, self.pool, self._in_flight, self._recorder, group, config),
            send_progress=send_progress,
            on_signal=on_signal,
            on_settled=on_settled,
            on_slow_claim=on_slow_claim,
            sweeps=sweeps,
        )
        self.loop = Loop("dispatch", self._dispatcher.turn, on_signal)

    @property
    def is_ready(self) -> bool:
        """Whether its loop turned lately and claimed jobs can start."""
        return self.pool.is_open and time.monotonic() - self._dispatcher.turned_at < self._ready_for

    @property
    def handed_back(self) -> int:
        """How many jobs were handed back so far."""
        return self._dispatcher.handed_back

    def on_arrival(self) -> None:
        """Jobs may stand in line."""
        self._dispatcher.hint()
        if self._dispatcher.is_due():
            self.loop.poke()

    async def claim_these(self, ids: Sequence[UUID]) -> TheseClaimed:
        """Claim the jobs that messages have named, and start them."""
        return await self._dispatcher.claim_these(ids)

    def sweep_alone(self, *, is_blind: bool) -> None:
        """Claim by sweeps alone, as messages cannot be received, or no longer."""
        if self._sweeps is not None and self._sweeps.is_blind != is_blind:
            self._sweeps.is_blind = is_blind
            self.loop.poke()

    def drain(self) -> None:
        """Claim no more, and hand back what has not begun."""
        self.pool.drain()
        self.loop.poke()

    def halt(self) -> None:
        """Kill everything that runs, for shutdown."""
        self.pool.halt()

    async def recover_lanes(self) -> None:
        """Recover lanes that failed to start attempts, if it is time to try."""
        if await self._in_flight.recover_lanes():
            self.on_arrival()

    async def record(self) -> None:
        """Record the output of attempts."""
        await self._recorder.record()

    async def settle(self) -> None:
        """Settle everything that has ended."""
        await self._dispatcher.turn()  # even with nothing to settle: it waits for a turn that still claims
        while not self.pool.is_settled:
            await self._dispatcher.turn()

    async def give_back(self) -> None:
        """Hand back what was not started or was killed, even if its output cannot be recorded."""
        await self._dispatcher.give_back()

    def _on_change(self) -> None:
        if not self.loop.is_poked and self._dispatcher.wants_turn():
            self.loop.poke()
