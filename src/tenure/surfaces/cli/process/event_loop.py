"""The process of a command that runs until a signal stops it: its streams, its event loop, its exit code."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from tenure.engine.worker.gc_tuning import tune_gc
from tenure.surfaces.cli.process.systemd import NotifyingWorker, ServiceManager, keep_notified

FORCED = 130
"""The exit code after a second signal."""

STOPS = (signal.SIGTERM, signal.SIGINT)
"""The signals that ask a command to stop."""


class Stoppable(Protocol):
    """A server, a worker, or both."""

    def stop(self, reason: str) -> None:
        """Stop in good order; called a second time, at once."""

    async def run(self) -> None:
        """Run until stopped."""


def open_standard_streams() -> None:
    """Open those that the caller has closed: files opened later would take their descriptors."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)


def run(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its exit code, on uvloop where that is installed: its round trips cost less."""
    tune_gc()
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(_undisturbed(work))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_undisturbed(work))


async def _undisturbed(work: Coroutine[Any, Any, int]) -> int:
    """Ignore signals once the work is done: a late one must not turn success into failure."""
    code = await work
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    return code


def on_signals(stop: Callable[[str], None]) -> None:
    """Call `stop` on the running loop with the name of each signal that asks the command to stop."""
    loop = asyncio.get_running_loop()
    for number in STOPS:
        # Not `loop.add_signal_handler`: the loop restores the default, which kills, before it is closed.
        signal.signal(number, lambda sent, _: loop.call_soon_threadsafe(stop, signal.Signals(sent).name))


async def run_until_signal(
    part: Stoppable, manager: ServiceManager, worker: NotifyingWorker | None = None
) -> int:
    """Run until a signal stops it, and return the exit code.

    The service manager is notified of the worker's state; without a worker, that the command is ready.
    """
    signals = 0

    def stop(name: str) -> None:
        nonlocal signals
        signals += 1
        manager.notify("STOPPING=1")
        part.stop(f"told by {name}" if signals == 1 else f"told again, by {name}")

    on_signals(stop)
    notifying = None
    if worker is None:
        manager.notify("READY=1")
    else:
        notifying = asyncio.create_task(keep_notified(manager, worker))
    try:
        await part.run()
    finally:
        if notifying is not None:
            notifying.cancel()
    return FORCED if signals > 1 else 0
