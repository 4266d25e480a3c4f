"""One worker's life: introduce itself, work, and stop in order.

To stop is to claim no more, wait for what runs, at the deadline kill it and hand it back, and settle what has
ended. What cannot be told to the store, because it cannot be reached, is taken from us when our leases run
out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from tenure.core.errors import TenureError
from tenure.core.operations import Worker as Introduction
from tenure.core.signals import Announce, Signal, WorkerDraining, WorkerReady, WorkerStopped
from tenure.engine.crew import Crew
from tenure.engine.lane import Lanes
from tenure.engine.manner import Manner
from tenure.engine.registry import Registry
from tenure.storage.contract import Store

T = TypeVar("T")
LAST_TRIES = 5
"""How often a worker that ends tries to tell the store what it still has to tell."""

LAST_WORDS = 5.0
"""Seconds that it spends on each thing: a store that does not answer must not keep it."""


class Worker:
    """Serves definitions until it is told to stop."""

    def __init__(
        self,
        store: Store,
        lanes: Lanes,
        introduction: Introduction,
        registry: Registry,
        manner: Manner,
        announce: Announce,
    ) -> None:
        self._store = store
        self._lanes = lanes
        self._introduction = introduction
        self._registry = registry
        self._manner = manner
        self._announce = _unharmed(announce)
        self._is_told = False
        self._stays = False
        self._is_resting = False
        """Whether an operator has drained it, and it has stayed."""
        self._draining = asyncio.Event()
        self._forced = asyncio.Event()
        self._reason = ""
        self._crew: Crew | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the claim loop has come round lately, and what is claimed can be started.

        Who rests because an operator wants it to is as ready as it is meant to be.
        """
        return self._crew is not None and (self._is_resting or self._crew.is_ready)

    @property
    def running(self) -> int:
        """How many attempts run now."""
        return 0 if self._crew is None else self._crew.running

    @property
    def active(self) -> Iterable[str]:
        """The definition of each attempt that runs now."""
        return () if self._crew is None else self._crew.active

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""
        return 0 if self._crew is None else self._crew.waiting

    def stay(self) -> None:
        """Do not end when an operator wants no more claims: others live in the same process."""
        self._stays = True

    def stop(self, reason: str = "asked to stop") -> None:
        """Claim no more and end when what runs has ended; asked twice, end at once."""
        if self._is_told:
            self._forced.set()
        self._is_told = True
        self._drain(reason)

    async def run(self) -> None:
        """Work until stopped."""
        await self._store.enlist(self._introduction)
        async with asyncio.TaskGroup() as tasks:
            crew = self._crew = Crew(
                self._store, self._lanes, self._registry, self._manner, tasks, self._announce, self._sent_away
            )
            loops = [tasks.create_task(loop) for loop in crew.loops()]
            self._announce(WorkerReady(self._introduction))
            await self._draining.wait()
            stopped = await self._wind_up(crew)
            for loop in loops:
                loop.cancel()
        await self._tried(lambda: self._store.dismiss(self._manner.worker))
        self._announce(stopped)

    def _sent_away(self, reason: str) -> None:
        """An operator wants no more claims, and says so with every heartbeat."""
        if not self._stays:
            self._drain(reason)
        elif self._crew is not None and not self._is_resting:
            self._is_resting = True
            self._crew.drain()
            self._announce(WorkerDraining(self._manner.worker, self._crew.running, reason))

    def _drain(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._draining.set()

    async def _wind_up(self, crew: Crew) -> WorkerStopped:
        crew.drain()
        self._announce(WorkerDraining(self._manner.worker, crew.running, self._reason))
        await self._until_idle(crew)
        crew.halt()
        await crew.until_idle()
        await crew.hooks.idle.wait()
        await self._tried(crew.settle)
        await self._tried(crew.give_back)
        return WorkerStopped(self._manner.worker, crew.handed_back, crew.held)

    async def _until_idle(self, crew: Crew) -> None:
        """Wait for what runs and its hooks, up to the deadline or until forced."""

        async def ended() -> None:
            await self._tried(crew.settle)
            await crew.until_idle()
            await self._tried(crew.settle)
            await crew.hooks.idle.wait()

        waits = {asyncio.ensure_future(ended()), asyncio.ensure_future(self._forced.wait())}
        _, pending = await asyncio.wait(
            waits, timeout=self._manner.shutdown.total_seconds(), return_when=asyncio.FIRST_COMPLETED
        )
        for one in pending:
            one.cancel()
        await asyncio.wait(waits)

    async def _tried(self, action: Callable[[], Awaitable[T]]) -> T | None:
        """A few tries, for a store that is briefly away; None when all failed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                for n in range(LAST_TRIES):
                    try:
                        return await action()
                    except TenureError:  # also what a store will never take: the rest is told all the same
                        await asyncio.sleep(0.1 * 2**n)
        return None


def _unharmed(announce: Announce) -> Announce:
    """Who hears a signal cannot harm who gives it: a terminal that is gone must not end a worker."""

    def announced(signal: Signal) -> None:
        try:  # not by `suppress`: it is called twice for every attempt
            announce(signal)
        except Exception:  # noqa: S110
            pass

    return announced
