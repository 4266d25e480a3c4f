"""The loops of one worker, put together around the attempts in its hands.

    dispatch     settle what ended, claim for free slots; one for each desk
    heartbeat    prolong leases, hear what to stop
    fence        halt what may not be ours for much longer
    record       write down what attempts have said, and have a heartbeat tell how far they are
    look, tidy   duties for everybody
    lane         get a lane going again that could start nothing
    arrivals     hints that jobs stand in line: desks are poked
    stops        hints that a running job was asked to stop: the heartbeat is poked
    changes      hints that anything has happened: a look is taken sooner

Hints only shorten waits. Without them `look` finds within a poll what there is to do, and the next heartbeat
what to stop. Where they come, an idle worker looks more seldom; should one be lost then, as when a process is
killed between its commit and its hint, what it spoke of is found at the next look all the same.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from tenure.core.errors import LeaseLost
from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Lease
from tenure.core.signals import Announce, Recovered, Signal
from tenure.engine.client import Client
from tenure.engine.desk import Desk
from tenure.engine.heartbeat import Heartbeat
from tenure.engine.hooks import Hooks
from tenure.engine.lane import Lanes
from tenure.engine.manner import Manner
from tenure.engine.registry import Registry
from tenure.engine.running import Running
from tenure.engine.service import Service
from tenure.engine.shares import shares
from tenure.engine.upkeep import LISTEN_FOR, Upkeep
from tenure.execution.halting import Halt
from tenure.storage.contract import Store, Wakeups

RECORD_EVERY = 0.5


class Crew:
    """Everything that moves in a worker while it works."""

    def __init__(
        self,
        store: Store,
        lanes: Lanes,
        registry: Registry,
        manner: Manner,
        tasks: asyncio.TaskGroup,
        announce: Announce,
        drain: Callable[[str], None],
    ) -> None:
        """`drain` is called when an operator wants the worker to claim no more."""
        specs = {(spec.key, spec.version): spec for spec in registry.specs()}
        self._store = store
        self._client = Client(store, registry)
        self._worker = manner.worker
        self._lines = manner.lines
        self._poll = manner.poll_seconds
        self._is_draining = False
        self.hooks = Hooks(lanes.named("process"), store, specs, manner, tasks, announce)
        told = self._telling(announce)
        self.desks = [
            Desk(
                store,
                lanes,
                specs,
                share,
                manner,
                self._spawn,
                tasks,
                announce=told,
                settled=self.hooks.after,
                slow=self._beat_now,
                finish=self._finish,
            )
            for share in shares(specs.values(), manner)
        ]
        heartbeat = self._signs = Heartbeat(
            store,
            [desk.attempts for desk in self.desks],
            manner,
            is_ready=lambda: self.is_ready,
            drain=lambda: drain("an operator asked for it"),
            announce=announce,
        )
        upkeep = Upkeep(
            store, manner, announce=announce, told=told, waiting=self._jobs_wait, owed=self._follow_up
        )
        self._heartbeat = Service("heartbeat", heartbeat.beat, told)
        self._services = (
            *(desk.service for desk in self.desks),
            self._heartbeat,
            Service("fence", heartbeat.fence, told),
            Service("record", self._record, told),
            *upkeep.services,
            Service("lane", self._mend, told),
            Service("arrivals", lambda: self._hear(store.listen(), self._jobs_wait), told),
            Service("stops", lambda: self._hear(store.listen(stops=True), self._heartbeat.poke), told),
        )

    @property
    def is_ready(self) -> bool:
        """Whether every claim loop has come round lately, and what is claimed can be started."""
        return all(desk.is_ready for desk in self.desks)

    @property
    def running(self) -> int:
        """How many attempts run now."""
        return sum(len(desk.attempts.running) for desk in self.desks)

    @property
    def active(self) -> Iterator[str]:
        """The definition of each of them."""
        return (one.claimed.definition for desk in self.desks for one in desk.attempts.running.values())

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""
        return sum(len(desk.attempts.waiting) for desk in self.desks)

    @property
    def handed_back(self) -> int:
        """How many jobs were handed back so far."""
        return sum(desk.dispatcher.handed_back for desk in self.desks)

    @property
    def held(self) -> int:
        """How many leases are in our hands."""
        return sum(len(desk.attempts.held()) for desk in self.desks)

    def drain(self) -> None:
        """Claim no more."""
        self._is_draining = True
        for desk in self.desks:
            desk.drain()

    def halt(self) -> None:
        """Kill whatever runs."""
        for desk in self.desks:
            desk.attempts.halt(Halt.SHUTDOWN)
        self.hooks.halt()

    async def until_idle(self) -> None:
        """Wait until nothing runs, nor waits to."""
        for desk in self.desks:
            await desk.attempts.idle.wait()

    async def settle(self) -> None:
        """Tell the store of everything that has ended."""
        for desk in self.desks:
            await desk.settle()

    async def give_back(self) -> None:
        """Hand back what was not started or was killed, even if what it has said cannot be recorded."""
        for desk in self.desks:
            await desk.dispatcher.give_back()

    def loops(self) -> list[Coroutine[Any, Any, None]]:
        """The loops, to be run until they are cancelled."""
        return [service.run() for service in self._services]

    def _telling(self, announce: Announce) -> Announce:
        """Announces what loops say; when one works again, others that rest after a failure try it, too."""

        def told(signal: Signal) -> None:
            announce(signal)
            if isinstance(signal, Recovered):
                for service in self._services:
                    service.hurry()

        return told

    def _beat_now(self) -> None:
        self._heartbeat.poke()

    async def _finish(self, ended: Sequence[Running]) -> None:
        await self._signs.finish(ended)

    def _jobs_wait(self) -> None:
        for desk in self.desks:
            desk.jobs_wait()

    async def _follow_up(self) -> None:
        if not self._is_draining:  # who is about to end leaves it to others
            await self.hooks.follow_up(self._lines)

    async def _mend(self) -> float:
        for desk in self.desks:
            await desk.mend()
        return self._poll

    async def _record(self) -> float:
        for desk in self.desks:
            await desk.dispatcher.record()
            if any(running.unsaid is not None for running in desk.attempts.running.values()):
                self._heartbeat.poke()
        return RECORD_EVERY

    async def _hear(
        self, listening: AbstractAsyncContextManager[Wakeups], heard: Callable[[], None]
    ) -> float:
        async with listening as wakeups:
            wakeups.call(heard)
            while True:
                await wakeups.wait(LISTEN_FOR)

    async def _spawn(self, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        judged = await self._client.judge(jobs)
        made = await self._store.spawn(self._worker, lease, judged)
        if made is None:
            raise LeaseLost("the lease of this attempt is gone: nothing was enqueued")
        await self._client.check_keys(judged, made)
        return made
