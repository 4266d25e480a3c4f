"""How a command runs that goes on until it is told to stop: its streams, its loop, and who tells it."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from tenure.engine.memory import settle_down

FORCED = 130
"""The exit code after a second signal."""

STOPS = (signal.SIGTERM, signal.SIGINT)
"""The signals that tell a command to stop."""


def open_standard_streams() -> None:
    """Whoever started us may have closed some: their numbers would go to something else."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)


def run(work: Coroutine[Any, Any, int]) -> int:
    """The exit code of the work, on uvloop where that is installed: it spends less on every round trip."""
    settle_down()
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(_undisturbed(work))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_undisturbed(work))


async def _undisturbed(work: Coroutine[Any, Any, int]) -> int:
    """The work; when it is over, a signal that comes late must not turn a good end into a bad one."""
    code = await work
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)
    return code


def on_signals(stop: Callable[[str], None]) -> None:
    """Have `stop` called with the name of each signal that tells the running loop's command to stop."""
    loop = asyncio.get_running_loop()
    for number in STOPS:
        # Not by the loop's own means: it would go back to the default, which is to die, before it is closed.
        signal.signal(number, lambda sent, _: loop.call_soon_threadsafe(stop, signal.Signals(sent).name))
