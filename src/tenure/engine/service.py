"""The one loop: take a turn, rest, take the next; after a failure rest longer, and go on until stopped."""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import random

from tenure.core.errors import TenureError
from tenure.core.signals import Announce, Recovered, Troubled

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 1.0
"""A store that is back is used again within so long."""

Turn = Callable[[], Awaitable[float]]
"""Does some work and says how many seconds there is nothing to do, unless somebody pokes."""


class Service:
    """A turn that is taken again and again. Nothing that it raises ends the loop."""

    def __init__(self, name: str, turn: Turn, announce: Announce) -> None:
        self.name = name
        self._turn = turn
        self._announce = announce
        self._poked = asyncio.Event()
        self._hurried = asyncio.Event()
        self._failures = 0

    @property
    def is_poked(self) -> bool:
        """Whether the next turn is to be taken as soon as this one is over."""
        return self._poked.is_set()

    def poke(self) -> None:
        """Take the next turn now."""
        self._poked.set()

    def hurry(self) -> None:
        """What made turns fail may be over: if the last one has failed, take the next one now."""
        self._hurried.set()

    async def run(self) -> None:
        """Take turns until cancelled."""
        while True:
            self._poked.clear()
            self._hurried.clear()
            rest = await self._once()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    # After a failure pokes do not count: what they speak of would fail again.
                    await (self._hurried if self._failures else self._poked).wait()

    async def _once(self) -> float:
        try:
            rest = await self._turn()
        except TenureError as error:
            return self._failed(str(error))
        except asyncio.CancelledError:
            if _is_being_cancelled():
                raise
            # Somebody else's cancellation has leaked into the turn.
            return self._failed(traceback.format_exc())
        except Exception:  # the one place: a bug in a turn must not make a worker deaf
            return self._failed(traceback.format_exc())
        if self._failures:
            self._failures = 0
            self._announce(Recovered(self.name))
        return rest

    def _failed(self, error: str) -> float:
        self._failures += 1
        self._announce(Troubled(self.name, error, self._failures))
        pause: float = min(FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE)
        return pause * (0.5 + random() / 2)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
