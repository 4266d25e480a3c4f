"""The loops of one worker, put together around the attempts in its hands.

    dispatch     settle what ended, claim for free slots
    heartbeat    prolong leases, hear what to stop
    fence        halt what may not be ours for much longer
    record       write down what attempts have said, and have a heartbeat tell how far they are
    look, tidy   duties for everybody
    lane         get a lane going again that could start nothing
    arrivals     hints that jobs stand in line: the dispatcher is poked
    stops        hints that a running job was asked to stop: the heartbeat is poked
    changes      hints that anything has happened: a look is taken sooner

Hints only shorten waits. Without them `look` finds within a poll what there is to do, and the next heartbeat
what to stop. Where they come, an idle worker looks more seldom; should one be lost then, as when a process is
killed between its commit and its hint, what it spoke of is found at the next look all the same.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from tenure.core.errors import LeaseLost
from tenure.core.job import Enqueued, NewJob
from tenure.core.lease import Lease
from tenure.core.signals import Announce
from tenure.engine.attempts import Attempts
from tenure.engine.client import Client
from tenure.engine.dispatcher import Dispatcher
from tenure.engine.duties import Duties
from tenure.engine.heartbeat import Heartbeat
from tenure.engine.hooks import Hooks
from tenure.engine.lane import Lane
from tenure.engine.manner import Manner
from tenure.engine.registry import Registry
from tenure.engine.service import Service
from tenure.storage.contract import Store, Wakeups

READY_FOR = 3.0
"""Seconds for which a turn of the claim loop counts, at least; where it rests longer, three rests."""

RECORD_EVERY = 0.5
LISTEN_FOR = 60.0


class Crew:
    """Everything that moves in a worker while it works."""

    def __init__(
        self,
        store: Store,
        lane: Lane,
        registry: Registry,
        manner: Manner,
        tasks: asyncio.TaskGroup,
        announce: Announce,
        drain: Callable[[str], None],
    ) -> None:
        """`drain` is called when an operator wants the worker to claim no more."""
        specs = {(spec.key, spec.version): spec for spec in registry.specs()}
        self._store = store
        self._lane = lane
        self._client = Client(store, registry)
        self._worker = manner.worker
        self._lines = manner.lines
        self._poll = manner.poll_seconds
        self.attempts = Attempts(
            lane, specs, self._spawn, tasks, manner.slots, ended=self._slot_is_free, announce=announce
        )
        self.hooks = Hooks(lane, store, specs, manner.slots, tasks, announce)
        self.dispatcher = Dispatcher(
            store, self.attempts, manner, announce=announce, settled=self.hooks.after
        )
        heartbeat = Heartbeat(
            store,
            self.attempts,
            manner,
            is_ready=lambda: self.is_ready,
            drain=lambda: drain("an operator asked for it"),
        )
        self._changes: Wakeups | None = None
        self._duties = duties = Duties(
            store, manner, announce=announce, waiting=self._jobs_wait, owed=self._follow_up, hears=self._hears
        )
        self._dispatch = Service("dispatch", self.dispatcher.turn, announce)
        self._heartbeat = Service("heartbeat", heartbeat.beat, announce)
        self._look = Service("look", duties.look, announce)
        self._services = (
            self._dispatch,
            self._heartbeat,
            Service("fence", heartbeat.fence, announce),
            Service("record", self._record, announce),
            self._look,
            Service("tidy", duties.tidy, announce),
            Service("lane", self._mend, announce),
            Service("arrivals", lambda: self._hear(store.listen(), self._jobs_wait), announce),
            Service("stops", lambda: self._hear(store.listen(stops=True), self._heartbeat.poke), announce),
            Service("changes", self._hear_changes, announce),
        )

    @property
    def is_ready(self) -> bool:
        """Whether the claim loop has come round lately, and what is claimed can be started."""
        if self.attempts.is_stuck or self.dispatcher.draining:
            return False
        return time.monotonic() - self.dispatcher.moved_at < max(READY_FOR, 3 * self._poll)

    def loops(self) -> list[Coroutine[Any, Any, None]]:
        """The loops, to be run until they are cancelled."""
        return [service.run() for service in self._services]

    def _jobs_wait(self) -> None:
        self.dispatcher.hint()
        self._dispatch.poke()

    def _slot_is_free(self) -> None:
        self._dispatch.poke()

    async def _follow_up(self) -> None:
        if not self.dispatcher.draining:  # who is about to end leaves it to others
            await self.hooks.follow_up(self._lines)

    async def _mend(self) -> float:
        if self.attempts.is_stuck and time.monotonic() >= self.attempts.mend_at:
            await self._lane.ready()
            self.attempts.is_stuck = False
            self._jobs_wait()
        return self._poll

    async def _record(self) -> float:
        await self.dispatcher.record()
        if any(running.unsaid is not None for running in self.attempts.running.values()):
            self._heartbeat.poke()
        return RECORD_EVERY

    async def _hear(
        self, listening: AbstractAsyncContextManager[Wakeups], heard: Callable[[], None]
    ) -> float:
        async with listening as wakeups:
            while True:
                if await wakeups.wait(LISTEN_FOR):
                    heard()

    async def _hear_changes(self) -> float:
        async with self._store.listen(changes=True) as self._changes:
            while True:
                if await self._changes.wait(LISTEN_FOR) and self._duties.stir():
                    self._look.poke()

    def _hears(self) -> bool:
        return self._changes is not None and self._changes.is_live

    async def _spawn(self, lease: Lease, jobs: Sequence[NewJob]) -> list[Enqueued]:
        judged = await self._client.judge(jobs)
        made = await self._store.spawn(self._worker, lease, judged)
        if made is None:
            raise LeaseLost("the lease of this attempt is gone: nothing was enqueued")
        await self._client.check_keys(judged, made)
        return made
