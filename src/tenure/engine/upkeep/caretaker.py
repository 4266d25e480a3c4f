"""Upkeep without a worker: where none runs, due jobs are still queued and lost ones reaped."""

import asyncio

from tenure.core.signals import Announce
from tenure.engine.config import WorkerConfig, new_worker_name
from tenure.engine.upkeep.duties import OnOutlook, ignore_outlook
from tenure.engine.upkeep.duty_loops import DutyLoops
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store


class Caretaker:
    """Does the duties until it is stopped. It serves no line and is no worker on record."""

    running = 0
    """How many attempts run now: always none."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        on_signal: Announce,
        on_outlook: OnOutlook = ignore_outlook,
    ) -> None:
        self._duties = DutyLoops(
            store,
            WorkerConfig.of(settings, worker=new_worker_name(), lines=()),
            on_signal=on_signal,
            on_loop_signal=on_signal,
            on_arrival=lambda: None,
            on_owed_hooks=_leave_to_workers,
            on_outlook=on_outlook,
        )
        self._stopped = asyncio.Event()
        self.is_ready = False

    def stop(self, reason: str = "asked to stop") -> None:  # noqa: ARG002
        """End now: another process can do the rest of any duty."""
        self._stopped.set()

    async def run(self) -> None:
        """Do the duties until stopped."""
        async with asyncio.TaskGroup() as tasks:
            loops = [tasks.create_task(loop.run()) for loop in self._duties.loops]
            self.is_ready = True
            await self._stopped.wait()
            for loop in loops:
                loop.cancel()


async def _leave_to_workers() -> None:
    """Workers that serve the definitions run the hooks."""
