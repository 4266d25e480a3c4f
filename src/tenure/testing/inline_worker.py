"""The worker of a harness: the steps of a real one, taken when the test says so and by the test's clock.

It has no loops and no processes. One drain or advance at a time is a `Shift`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

from tenure.core.errors import TenureError
from tenure.core.model.lease import Lease, Pulse
from tenure.core.model.spec import Spec
from tenure.core.signals import Signal
from tenure.engine.client.registration import save_definitions
from tenure.engine.client.registry import Registry
from tenure.engine.config import WorkerConfig
from tenure.engine.schedules.announcement import announce_all
from tenure.engine.worker.held_attempt import HeldAttempt
from tenure.engine.worker.hooks import Hooks
from tenure.execution.parent.attempt_terms import StopReason
from tenure.testing.bound_runtime import BoundRuntime
from tenure.testing.inline_lane import InlineAttempt, InlineLane, MakeAttempt
from tenure.testing.shift import Shift
from tenure.testing.stages import Post
from tenure.testing.stand_ins import StandIns

WORKER = "harness"
LEASE = timedelta(seconds=30)


class InlineWorker:
    """Serves all definitions of one app, in every queue that has jobs of them."""

    def __init__(self, runtime: BoundRuntime, registry: Registry, stand_ins: StandIns, slots: int) -> None:
        self._runtime = runtime
        self._registry = registry
        self._stand_ins = stand_ins
        self._config = WorkerConfig(worker=WORKER, lines=(), slots=slots, lease=LEASE)
        self._held: dict[Lease, HeldAttempt] = {}
        self._registered: list[Spec] = []
        self._announced: tuple[bytes, ...] = ()
        self._is_busy = False
        self.make_attempt: MakeAttempt = InlineAttempt
        self.has_schedules = True
        """Whether the schedules of the app fire."""
        runtime.on_call = self.beat

    async def beat(self) -> None:
        """Ask the store which attempts are to stop, and ask them."""
        if not self._held:
            return
        store, _ = await self._runtime.ready()
        answer = await store.heartbeat(Pulse(worker=WORKER, leases=list(self._held), lease_for=LEASE))
        for leases, reason in ((answer.cancelling, StopReason.CANCELLED), (answer.lost, StopReason.LOST)):
            for lease in leases & self._held.keys():
                self._held[lease].stop.ask(reason)

    async def register(self) -> None:
        """Save the app's definitions and schedules, as a worker does when it starts."""
        store, client = await self._runtime.ready()
        if (specs := self._registry.specs()) != self._registered:
            await save_definitions(store, specs, by=WORKER)
            self._registered = specs
        schedules = self._registry.manifest(None).schedules if self.has_schedules else ()
        if schedules != self._announced:
            await announce_all(client.schedules, schedules, by=WORKER)
            self._announced = schedules

    async def drain(self, post: Post, rounds: int) -> int:
        """Run jobs until none is ready; returns how many attempts that took."""
        return await self._alone(post, lambda shift: shift.drain(rounds))

    async def advance(self, post: Post, by: timedelta) -> int:
        """Let time pass, and run what becomes ready when it does; returns how many attempts that took."""
        return await self._alone(post, lambda shift: shift.advance(by))

    async def _alone(self, post: Post, work: Callable[[Shift], Awaitable[int]]) -> int:
        if self._is_busy:
            raise TenureError("the harness is at work: drain and advance one at a time, and not in a handler")
        self._is_busy = True
        failures: list[Exception] = []
        try:
            await self.register()
            at = await self._runtime.ready()
            specs = {(spec.key, spec.version): spec for spec in self._registered}
            lane = InlineLane(self._stand_ins.handler_of, post, self.beat, self.make_attempt)
            async with asyncio.TaskGroup() as tasks:
                hooks = Hooks(lane, at.store, specs, self._config, tasks, on_signal=_unheard)
                shift = Shift(at, lane, hooks, specs, self._config, self._held, self._stand_ins, tasks)
                try:
                    return await work(shift)
                except Exception as error:  # as it is: the group would wrap it
                    failures.append(error)
            raise failures[0]
        finally:
            self._is_busy = False
            self._held.clear()


def _unheard(_: Signal) -> None:
    """A test reads the store instead."""
