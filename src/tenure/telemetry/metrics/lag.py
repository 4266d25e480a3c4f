"""Measures how late an event loop is: what keeps it busy delays all its tasks."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.telemetry.metrics.instruments import Histogram

EVERY = 1.0
"""Seconds between two looks."""


@contextmanager
def watched(lag: Histogram) -> Iterator[None]:
    """Observe, while the context lasts, how late the running loop calls a timer."""
    loop = asyncio.get_running_loop()
    due = loop.time() + EVERY
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer, due
        lag.observe((), max(0.0, loop.time() - due))
        due = loop.time() + EVERY
        timer = loop.call_at(due, look)

    timer = loop.call_at(due, look)
    try:
        yield
    finally:
        timer.cancel()
