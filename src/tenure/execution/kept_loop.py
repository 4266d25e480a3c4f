"""An event loop that is kept from one attempt to the next, as long as none leaves anything in it."""

import asyncio
from threading import active_count
from typing import Any

from tenure.execution.hub import Hub, Strand


class KeptLoop:
    """The loop of one thread; `hub` is what is read while it runs, if nobody else reads it."""

    def __init__(self, hub: Hub | None) -> None:
        self._hub = hub
        self._runner: asyncio.Runner | None = None

    def run(self, strand: Strand, work: Any) -> Any:
        """Run what a handler gave back to its end; it is cancelled when the attempt is to stop."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.get_loop().run_until_complete(self._await(strand, work))

    def tidy(self, threads: int | None) -> None:
        """Take from the attempt what it has left in the loop: its tasks are cancelled, its threads awaited.

        `threads` is how many there were before it, None where others start some as well: then a loop with
        threads of its own is known by them alone.
        """
        if self._runner is None:
            return
        loop = self._runner.get_loop()
        has_threads = _has_executor(loop) if threads is None else active_count() > threads
        if has_threads or asyncio.all_tasks(loop):
            self._runner.close()
            self._runner = None

    async def _await(self, strand: Strand, work: Any) -> Any:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        if self._hub is not None:
            loop.add_reader(self._hub.fileno(), self._hub.look)
        forget = strand.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            return await task
        finally:
            forget()
            if self._hub is not None:
                loop.remove_reader(self._hub.fileno())


def _has_executor(loop: asyncio.AbstractEventLoop) -> bool:
    return getattr(loop, "_default_executor", None) is not None
