"""Waits for what sets no event: another process, the kernel, a store. The one polling loop of the tests."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar, overload

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds: generous, since a test that passes does not wait for them."""


@overload
async def until(condition: Callable[[], Awaitable[T]], within: float = PATIENCE) -> T: ...


@overload
async def until(condition: Callable[[], T], within: float = PATIENCE) -> T: ...


async def until(condition: Callable[[], Any], within: float = PATIENCE) -> Any:
    """Ask again and again until the answer is true, and return it; raises TimeoutError when time is over.

    The condition may be a plain function or one whose answer is awaited. Where waiting has become pointless,
    because a process has ended for example, let the condition raise.
    """
    pauses = _pauses()
    async with asyncio.timeout(within):
        while True:
            answer = condition()
            found = await answer if inspect.isawaitable(answer) else answer
            if found:
                return found
            await asyncio.sleep(next(pauses))


def until_sync(condition: Callable[[], T], within: float = PATIENCE) -> T:
    """The same for tests without an event loop."""
    pauses, ends_at = _pauses(), time.monotonic() + within
    while not (found := condition()):
        if time.monotonic() > ends_at:
            raise TimeoutError(f"after {within:g} s it is still {found!r}")
        time.sleep(next(pauses))
    return found


def _pauses() -> Iterator[float]:
    """Seconds between two looks: few at first, so that what comes soon is seen soon."""
    pause = 0.001
    while True:
        yield pause
        pause = min(2 * pause, 0.02)
