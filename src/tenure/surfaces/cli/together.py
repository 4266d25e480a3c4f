"""A server and a worker in one process, which live and end together.

They stop in order: the server takes no more requests and answers those under way; only then the worker is
told, so that nothing enters behind its back; it claims no more, and what runs comes to its end. All of this
has one deadline. Should one of the two end unasked, the other is stopped in the same order, and why is told.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Protocol

from tenure.surfaces.cli import notifying
from tenure.surfaces.cli.notifying import Manager, keep_told
from tenure.surfaces.cli.running import FORCED, on_signals


class Server(Protocol):
    """What answers requests: as `tenure.surfaces.http.server.Server` does."""

    def stop(self) -> None:
        """Stop in good order; told a second time, at once."""

    async def run(self) -> None:
        """Serve until stopped."""


class Worker(notifying.Worker, Protocol):
    """What runs jobs, or only keeps the store in order: as `tenure.engine.worker.Worker` does."""

    def stop(self, reason: str = ...) -> None:
        """Stop in good order; told a second time, at once."""

    async def run(self) -> None:
        """Work until stopped."""


class Together:
    """The two, from their start to the exit code."""

    def __init__(
        self, server: Server, worker: Worker, shutdown_seconds: float, tell: Callable[[str], None]
    ) -> None:
        self._server = server
        self._worker = worker
        self._seconds = shutdown_seconds
        self._tell = tell
        self._manager = Manager(os.environ)
        self._signals = 0
        self._reason = ""

    async def run(self) -> int:
        """Run until told to stop, or until one of the two ends; raises what made that one end."""
        on_signals(self._on_signal)
        serving = asyncio.create_task(self._server.run())
        working = asyncio.create_task(self._worker.run())
        telling = asyncio.create_task(keep_told(self._manager, self._worker))
        try:
            await asyncio.wait({serving, working}, return_when=asyncio.FIRST_COMPLETED)
            if not self._reason:
                part, other = ("server", "worker") if serving.done() else ("worker", "server")
                self._tell(f"the {part} has ended; the {other} ends with it")
                self._stop(f"the {part} has ended")
            await asyncio.wait({serving})
            self._worker.stop(self._reason)
            await asyncio.wait({working})
        finally:
            telling.cancel()
        for task in (serving, working):
            if (error := task.exception()) is not None:
                raise _first(error)
        return FORCED if self._signals > 1 else 0

    def _on_signal(self, name: str) -> None:
        self._signals += 1
        if self._reason:
            self._force()
        else:
            self._stop(f"told by {name}")

    def _stop(self, reason: str) -> None:
        self._reason = reason
        self._manager.tell("STOPPING=1")
        self._server.stop()
        asyncio.get_running_loop().call_later(self._seconds, self._force)

    def _force(self) -> None:
        """End both at once, however far they are."""
        self._server.stop()
        self._worker.stop(self._reason)
        self._worker.stop(self._reason)


def _first(error: BaseException) -> BaseException:
    """What happened, out of the group that a worker's many loops make of it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
