"""How long the worker waits for a child that is about to end, or must."""

import asyncio
from time import monotonic
from typing import Any

from tenure.execution.parent.attempt_terms import StopReason, StopRequest
from tenure.execution.parent.endings import StopLog
from tenure.execution.parent.zygote_client import ZygoteClient

LINGER = 1.0
"""Seconds that a child may live on after it has reported or closed its socket."""

STOP_HOOKS = 5.0
"""Seconds that the app's hooks at the end of a process may take; then it is killed."""

PATIENCE = 10.0
"""Seconds that a zygote may take to end a child; then the zygote itself is stuck, and is replaced."""

AT_LEAST = 0.5
"""Minimum wait for a kill, even past the deadline: the child may be exiting."""

LAST_WORDS = 1.0
"""Seconds that requests of a killed child may still take."""


def kill_patience(stop: StopRequest) -> float:
    """How long a killed child may take to end: after a lost lease, no longer than the lease's deadline."""
    if stop.reason is not StopReason.LOST or stop.deadline is None:
        return PATIENCE
    return min(max(stop.deadline - monotonic(), AT_LEAST), PATIENCE)


def linger(zygote: ZygoteClient) -> float:
    """How long a process may live on after its last report."""
    return STOP_HOOKS if zygote.has_stop_hooks else LINGER


async def finish(work: "asyncio.Task[None]", stop: StopRequest, stop_log: StopLog) -> None:
    """Wait for work that a child requested before its end: to enqueue jobs, for one, may take its time.

    When the attempt is to be killed at once, `work` is given a moment more and then cancelled.
    """
    if work.done():
        return
    final = asyncio.ensure_future(stop.wait_until_final())
    either: set[asyncio.Future[Any]] = {work, final}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        final.cancel()
    if not work.done():
        stop_log.dropped = stop.reason
        await asyncio.wait({work}, timeout=LAST_WORDS)
        work.cancel()
