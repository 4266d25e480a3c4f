"""The life of one worker: put itself on record, work, and shut down in order.

To shut down, it claims no more, waits for what runs, kills and hands back what still runs at the deadline,
and settles what has ended. If the store cannot be reached, other workers get these jobs when the leases run
out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from tenure.core.errors import TenureError
from tenure.core.reports.operations import WorkerInfo
from tenure.core.signals import (
    Announce,
    Signal,
    WorkerDraining,
    WorkerHalting,
    WorkerReady,
    WorkerStopped,
    to_all,
)
from tenure.engine.client.registry import Registry
from tenure.engine.config import WorkerConfig
from tenure.engine.upkeep.duties import OnOutlook, ignore_outlook
from tenure.engine.worker.loops import WorkerLoops
from tenure.engine.worker.named_claims import Triggers
from tenure.execution.lanes import LaneSet
from tenure.storage.contract.store import Store

T = TypeVar("T")
FINAL_TRIES = 5
"""How often a worker that shuts down tries each of its last calls to the store."""

FINAL_SECONDS = 5.0
"""Seconds for all tries of one call: a store that does not answer must not keep the worker alive."""


class Worker:
    """Serves definitions until it is stopped."""

    def __init__(
        self,
        store: Store,
        lanes: LaneSet,
        info: WorkerInfo,
        registry: Registry,
        config: WorkerConfig,
        on_signal: Announce,
        on_outlook: OnOutlook = ignore_outlook,
        triggers: Triggers | None = None,
    ) -> None:
        """With `triggers` it claims the jobs that those name, and by itself only in sweeps."""
        self._store = store
        self._lanes = lanes
        self._info = info
        self._registry = registry
        self._config = config
        self._on_outlook = on_outlook
        self._triggers = triggers
        self._on_signal = _guarded(on_signal if triggers is None else to_all(triggers.on_signal, on_signal))
        self._is_stopping = False
        self._stays = False
        self._is_resting = False
        """Whether an operator has drained it and it stays."""
        self._draining = asyncio.Event()
        self._forced = asyncio.Event()
        self._reason = ""
        self._forced_for = ""
        self._loops: WorkerLoops | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the claim loop turned lately and claimed jobs can start.

        A worker that an operator has drained, and that stays, is ready.
        """
        return self._loops is not None and (self._is_resting or self._loops.is_ready)

    @property
    def running(self) -> int:
        """How many attempts run now."""
        return 0 if self._loops is None else self._loops.running

    @property
    def active(self) -> Iterable[str]:
        """The definition of each attempt that runs now."""
        return () if self._loops is None else self._loops.active

    @property
    def waiting(self) -> int:
        """How many attempts are claimed and wait for a slot."""
        return 0 if self._loops is None else self._loops.waiting

    @property
    def is_forced(self) -> bool:
        """Whether it was told a second time to stop."""
        return self._forced.is_set()

    def stay(self) -> None:
        """Do not end when an operator drains the worker: its process has other work, too."""
        self._stays = True

    def stop(self, reason: str = "asked to stop") -> None:
        """Claim no more and end when what runs has ended; called twice, end at once."""
        if self._is_stopping:
            self._forced_for = reason
            self._forced.set()
        self._is_stopping = True
        self._drain(reason)

    async def run(self) -> None:
        """Work until stopped."""
        await self._store.enlist(self._info)
        async with asyncio.TaskGroup() as tasks:
            loops = self._loops = WorkerLoops(
                *(self._store, self._lanes, self._registry, self._config, tasks),
                on_signal=self._on_signal,
                on_drain=self._on_drain,
                on_outlook=self._on_outlook,
                triggers=self._triggers,
            )
            running = [tasks.create_task(loop) for loop in loops.run()]
            self._on_signal(WorkerReady(self._info))
            await self._draining.wait()
            stopped = await self._shut_down(loops)
            for loop in running:
                loop.cancel()
        await self._try(lambda: self._store.dismiss(self._config.worker))
        self._on_signal(stopped)

    def _on_drain(self, reason: str) -> None:
        """An operator drains this worker; runs after every heartbeat from then on."""
        if not self._stays:
            self._drain(reason)
        elif self._loops is not None and not self._is_resting:
            self._is_resting = True
            self._loops.drain()
            self._on_signal(WorkerDraining(self._config.worker, self._loops.running, reason))

    def _drain(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._draining.set()

    async def _shut_down(self, loops: WorkerLoops) -> WorkerStopped:
        loops.drain()
        seconds = self._config.shutdown.total_seconds()
        self._on_signal(WorkerDraining(self._config.worker, loops.running, self._reason, seconds))
        await self._until_idle(loops)
        if loops.running:
            reason = self._forced_for or f"after {seconds:g} s"
            self._on_signal(WorkerHalting(self._config.worker, loops.running, reason))
        loops.halt()
        await loops.until_idle()
        await loops.hooks.idle.wait()
        await self._try(loops.settle)
        await self._try(loops.give_back)
        await self._try(loops.finish_messages)
        return WorkerStopped(self._config.worker, loops.handed_back, loops.held)

    async def _until_idle(self, loops: WorkerLoops) -> None:
        """Wait for what runs and its hooks, until the deadline or until forced."""

        async def until_ended() -> None:
            await self._try(loops.settle)
            await loops.until_idle()
            await self._try(loops.settle)
            await loops.hooks.idle.wait()

        waits = {asyncio.ensure_future(until_ended()), asyncio.ensure_future(self._forced.wait())}
        _, pending = await asyncio.wait(
            waits, timeout=self._config.shutdown.total_seconds(), return_when=asyncio.FIRST_COMPLETED
        )
        for wait in pending:
            wait.cancel()
        await asyncio.wait(waits)

    async def _try(self, action: Callable[[], Awaitable[T]]) -> T | None:
        """Try a few times, as the store may be away briefly; None if every try failed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINAL_SECONDS):
                for n in range(FINAL_TRIES):
                    try:
                        return await action()
                    except TenureError:  # the store may never accept this: the other calls still follow
                        await asyncio.sleep(0.1 * 2**n)
        return None


def _guarded(on_signal: Announce) -> Announce:
    """A failing subscriber must not stop the worker."""

    def guarded(signal: Signal) -> None:
        try:  # `suppress` is slower, and this runs twice for every attempt
            on_signal(signal)
        except Exception:  # noqa: S110
            pass

    return guarded
