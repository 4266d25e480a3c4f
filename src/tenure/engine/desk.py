"""One desk of a worker: the slots of a share, the attempts in them, and the loop that fills them."""

import asyncio
import time
from collections.abc import Callable

from tenure.core.signals import Announce, AttemptSettled
from tenure.engine.attempts import Attempts, Specs
from tenure.engine.dispatcher import Dispatcher, Finish
from tenure.engine.lane import Lanes
from tenure.engine.manner import Manner
from tenure.engine.running import Spawn
from tenure.engine.service import Service
from tenure.engine.shares import Share
from tenure.storage.contract import Store

READY_FOR = 3.0
"""Seconds for which a turn of the claim loop counts, at least; where it rests longer, three rests."""


class Desk:
    """Claims for one share; `settled`, `slow` and `finish` as in `Dispatcher`."""

    def __init__(
        self,
        store: Store,
        lanes: Lanes,
        specs: Specs,
        share: Share,
        manner: Manner,
        spawn: Spawn,
        tasks: asyncio.TaskGroup,
        *,
        announce: Announce,
        settled: Callable[[AttemptSettled], None],
        slow: Callable[[], None],
        finish: Finish,
    ) -> None:
        self._lanes = lanes
        self._poll = manner.poll_seconds
        self.attempts = Attempts(
            lanes, specs, share, spawn, tasks, manner.limits, ended=self._slot_is_free, announce=announce
        )
        self.dispatcher = Dispatcher(
            *(store, self.attempts, share, manner),
            announce=announce,
            settled=settled,
            slow=slow,
            finish=finish,
        )
        self.service = Service("dispatch", self.dispatcher.turn, announce)

    @property
    def is_ready(self) -> bool:
        """Whether its loop has come round lately, and what is claimed can be started."""
        if self.attempts.is_stuck or self.dispatcher.draining:
            return False
        return time.monotonic() - self.dispatcher.moved_at < max(READY_FOR, 3 * self._poll)

    def jobs_wait(self) -> None:
        """Jobs may stand in line."""
        self.dispatcher.hint()
        if self.dispatcher.is_due():
            self.service.poke()

    def drain(self) -> None:
        """Claim no more, and hand back what has not begun."""
        self.dispatcher.draining = True
        self.attempts.give_back_waiting()
        self.service.poke()

    async def mend(self) -> None:
        """Get a lane going again that could start nothing, if it is time to try."""
        if self.attempts.is_stuck and time.monotonic() >= self.attempts.mend_at:
            await self._lanes.ready()
            self.attempts.is_stuck = False
            self.jobs_wait()

    async def settle(self) -> None:
        """Tell the store of everything that has ended."""
        await self.dispatcher.turn()  # even with nothing to settle: it waits for one that still claims
        while not self.attempts.is_settled:
            await self.dispatcher.turn()

    def _slot_is_free(self) -> None:
        if not self.service.is_poked and self.dispatcher.ended():
            self.service.poke()
