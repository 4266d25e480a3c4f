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
        loop = self._kept()
        task = asyncio.ensure_future(work, loop=loop)
        forget = strand.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            return loop.run_until_complete(task)
        finally:
            forget()

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

    def _kept(self) -> asyncio.AbstractEventLoop:
        if self._runner is not None:
            return self._runner.get_loop()
        self._runner = asyncio.Runner()
        loop = self._runner.get_loop()
        if self._hub is not None:
            loop.add_reader(self._hub.fileno(), self._hub.look)
        return loop


def _has_executor(loop: asyncio.AbstractEventLoop) -> bool:
    return getattr(loop, "_default_executor", None) is not None
