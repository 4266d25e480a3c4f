"""A server and a worker in one process, which live and end together.

They stop in order. The server stops first: it takes no more requests and answers those under way. Then the
worker stops, so that no job is recorded behind it: it claims no more and finishes what runs. All of this has
one deadline. If one of the two ends by itself, the other is stopped in the same order.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol


class StoppableServer(Protocol):
    """What answers requests: as `tenure.surfaces.http.server.server.Server` does."""

    def stop(self) -> None:
        """Stop in good order; called a second time, at once."""

    async def run(self) -> None:
        """Serve until stopped."""


class StoppableWorker(Protocol):
    """What runs jobs, or only keeps the store in order: as `tenure.engine.worker.worker.Worker` does."""

    @property
    def is_ready(self) -> bool:
        """Whether it can do its work."""

    @property
    def running(self) -> int:
        """How many attempts run now."""

    def stop(self, reason: str = ...) -> None:
        """Stop in good order; called a second time, at once."""

    async def run(self) -> None:
        """Work until stopped."""


class Supervisor:
    """Runs the two, and stops them in order; `on_early_end` is called if one of them ends by itself."""

    def __init__(
        self,
        server: StoppableServer,
        worker: StoppableWorker,
        shutdown_seconds: float,
        on_early_end: Callable[[str], None],
    ) -> None:
        self._server = server
        self._worker = worker
        self._seconds = shutdown_seconds
        self._on_early_end = on_early_end
        self._reason = ""

    @property
    def is_ready(self) -> bool:
        """Whether the worker can do its work."""
        return self._worker.is_ready

    @property
    def running(self) -> int:
        """How many attempts run now."""
        return self._worker.running

    async def run(self) -> None:
        """Run until stopped, or until one of the two ends; raises what made that one end."""
        serving = asyncio.create_task(self._server.run())
        working = asyncio.create_task(self._worker.run())
        await asyncio.wait({serving, working}, return_when=asyncio.FIRST_COMPLETED)
        if not self._reason:
            part, other = ("server", "worker") if serving.done() else ("worker", "server")
            self._on_early_end(f"the {part} has ended; the {other} ends with it")
            self.stop(f"the {part} has ended")
        await asyncio.wait({serving})
        self._worker.stop(self._reason)
        await asyncio.wait({working})
        for task in (serving, working):
            if (error := task.exception()) is not None:
                raise _first(error)

    def stop(self, reason: str) -> None:
        """Stop both in good order; called a second time, at once."""
        if self._reason:
            self._force(reason)
            return
        self._reason = reason
        self._server.stop()
        asyncio.get_running_loop().call_later(self._seconds, self._force, f"after {self._seconds:g} s")

    def _force(self, reason: str) -> None:
        """End both at once, however far they are."""
        self._server.stop()
        self._worker.stop(self._reason)
        self._worker.stop(reason)


def _first(error: BaseException) -> BaseException:
    """The first error in the group that a worker's loops raise."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
