"""Upkeep without a worker: where nobody runs jobs, what is due is still queued, what is lost taken back."""

import asyncio

from tenure.core.signals import Announce
from tenure.engine.hiring import new_name
from tenure.engine.manner import Manner
from tenure.engine.upkeep import Upkeep
from tenure.settings import Settings
from tenure.storage.contract import Store


class Caretaker:
    """Keeps a store in order until it is told to stop. It serves no line, and is no worker on record."""

    running = 0
    """How many attempts run now: it never runs any."""

    def __init__(self, store: Store, settings: Settings, announce: Announce) -> None:
        manner = Manner.of(settings, worker=new_name(), lines=())
        self._upkeep = Upkeep(
            store, manner, announce=announce, told=announce, waiting=lambda: None, owed=_by_others
        )
        self._stopped = asyncio.Event()
        self.is_ready = False

    def stop(self, reason: str = "asked to stop") -> None:  # noqa: ARG002
        """End now: nothing of a duty is lost when another has to do the rest of it."""
        self._stopped.set()

    async def run(self) -> None:
        """Do the duties until stopped."""
        async with asyncio.TaskGroup() as tasks:
            loops = [tasks.create_task(service.run()) for service in self._upkeep.services]
            self.is_ready = True
            await self._stopped.wait()
            for loop in loops:
                loop.cancel()


async def _by_others() -> None:
    """Hooks are owed by whoever serves their definitions."""
