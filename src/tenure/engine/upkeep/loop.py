"""The one loop: take a turn, rest, take the next; after a failure pause, and go on until cancelled."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import random

from tenure.core.errors import TenureError
from tenure.core.signals import Announce, Recovered, Troubled

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
"""Seconds within which a store that is back is used again."""

Turn = Callable[[], Awaitable[float]]
"""Does some work and returns how many seconds to rest, unless the loop is poked."""


class Loop:
    """Takes a turn again and again. Nothing that a turn raises ends the loop."""

    def __init__(self, name: str, turn: Turn, on_signal: Announce) -> None:
        self.name = name
        self._turn = turn
        self._on_signal = on_signal
        self._poked = asyncio.Event()
        self._hurried = asyncio.Event()
        self._failures = 0

    @property
    def is_poked(self) -> bool:
        """Whether the next turn follows this one at once."""
        return self._poked.is_set()

    def poke(self) -> None:
        """Take the next turn now."""
        self._poked.set()

    def hurry(self) -> None:
        """If the last turn failed, take the next one now: the cause may be gone."""
        self._hurried.set()

    async def run(self) -> None:
        """Take turns until cancelled."""
        while True:
            self._poked.clear()
            self._hurried.clear()
            rest = await self._once()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    # After a failure, pokes do not count: the turn would fail again.
                    await (self._hurried if self._failures else self._poked).wait()

    async def _once(self) -> float:
        try:
            rest = await self._turn()
        except TenureError as error:
            return self._failed(str(error))
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            # A cancellation meant for something else has leaked into the turn.
            return self._failed(traceback.format_exc())
        except Exception:  # the only place that catches all: a bug in a turn must not end the loop
            return self._failed(traceback.format_exc())
        if self._failures:
            self._failures = 0
            self._on_signal(Recovered(self.name))
        return rest

    def _failed(self, error: str) -> float:
        self._failures += 1
        self._on_signal(Troubled(self.name, error, self._failures))
        pause: float = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE)
        return pause * (0.5 + random() / 2)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
