"""An event loop that is kept from one attempt to the next, as long as none leaves anything in it."""

import asyncio
from threading import active_count
from typing import Any

from tenure.execution.handler.mux import Mux, MuxStream


class ReusableLoop:
    """The loop of one thread; it reads `mux` while it runs, unless another thread does."""

    def __init__(self, mux: Mux | None) -> None:
        self._mux = mux
        self._runner: asyncio.Runner | None = None
        self._kept_tasks: set[asyncio.Task[Any]] | None = None

    def keep(self) -> None:
        """Let the tasks that are in the loop now stay, and the loop itself, from one attempt to the next."""
        if self._runner is not None:
            self._kept_tasks = asyncio.all_tasks(self._runner.get_loop())

    def run(self, stream: MuxStream, awaitable: Any) -> Any:
        """Run what a handler returned to its end; it is cancelled when the attempt is to stop."""
        loop = self._kept()
        task = stream.task = asyncio.ensure_future(awaitable, loop=loop)
        forget = stream.when_cancelled(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            return loop.run_until_complete(task)
        finally:
            forget()

    def tidy(self, threads: int | None) -> None:
        """Remove what the attempt left in the loop: cancel its tasks, wait for its threads.

        `threads` is how many there were before it; None where other attempts start threads too: then only the
        loop's own executor is looked at.
        """
        if self._runner is None:
            return
        loop = self._runner.get_loop()
        has_threads = _has_executor(loop) if threads is None else active_count() > threads
        if self._kept_tasks is not None:
            self._tidy_around(self._kept_tasks, loop)
        elif has_threads or asyncio.all_tasks(loop):
            self._runner.close()
            self._runner = None

    def _tidy_around(self, kept: "set[asyncio.Task[Any]]", loop: asyncio.AbstractEventLoop) -> None:
        """Remove what the attempt left beside these tasks; the loop cannot be closed, as they need it."""
        if left := asyncio.all_tasks(loop) - kept:
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.wait(left))
        if _has_executor(loop):
            loop._default_executor.shutdown(wait=True)  # type: ignore[attr-defined]
            loop._default_executor = None  # type: ignore[attr-defined]

    def _kept(self) -> asyncio.AbstractEventLoop:
        if self._runner is not None:
            return self._runner.get_loop()
        self._runner = asyncio.Runner()
        loop = self._runner.get_loop()
        if self._mux is not None:
            loop.add_reader(self._mux.fileno(), self._mux.look)
        return loop


def _has_executor(loop: asyncio.AbstractEventLoop) -> bool:
    return getattr(loop, "_default_executor", None) is not None
