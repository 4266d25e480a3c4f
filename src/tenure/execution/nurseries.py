"""The zygotes of one app: one that all lanes fork from, replaced when it dies, and some for one alone."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from tenure.core.errors import TenureError
from tenure.core.outcome import Failure
from tenure.core.retry import AttemptEnd, TimedOut, WasStopped
from tenure.execution import limits
from tenure.execution.guards import Guards
from tenure.execution.halting import Halt, Halting, Unstarted
from tenure.execution.nursery import Nursery
from tenure.execution.protocol import Ready
from tenure.execution.suspects import Suspects
from tenure.execution.user import User


class Nurseries:
    """Opens zygotes for one app and ends them all; with `anew` their children import the app themselves."""

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None,
        spares: int,
        environment: Mapping[str, str],
        guards: Guards | None,
        anew: bool = False,
        user: User | None = None,
        keeps_signals: bool = False,
    ) -> None:
        self._target = target
        self._user = user
        self._keeps_signals = keeps_signals
        self._folder = folder or Path.cwd()
        self._spares = spares
        self._environment = dict(environment)
        self._own = limits.own(self._environment, ())
        self._guards = guards or Guards()
        self._anew = anew
        self._nurseries: set[Nursery] = set()
        self._of_those_gone = 0
        self._opening = asyncio.Lock()
        self._is_closed = False
        self.current: Nursery | None = None
        """The one that attempts share; it may have died."""
        self.suspects = Suspects()
        """Jobs that were running when one died."""
        self.notice: str | None = None
        """What an operator should know of how attempts are started; None where all is as it should be."""

    @property
    def children(self) -> int:
        """How many children were asked for so far, of all zygotes."""
        return self._of_those_gone + sum(nursery.children for nursery in self._nurseries)

    def own(self, names: Iterable[str]) -> dict[str, str]:
        """The variables that an attempt is given beyond what its zygote has."""
        return limits.own(self._environment, names) if names else self._own

    async def start(self) -> bytes:
        """Import the app; answers with its manifest, raises `AppFailed` when it has none."""
        self.current, ready = await self._open(self._spares)
        return ready.manifest

    async def replaced(self) -> Nursery:
        """The shared one, another one if it has died; raises `AppFailed` when there can be none."""
        async with self._opening:
            if self.current is None or not self.current.is_open:
                self.current, _ = await self._open(self._spares)
            return self.current

    async def apart(self) -> Nursery:
        """One for a single attempt; whoever asked for it closes it."""
        nursery, _ = await self._open(0)
        return nursery

    async def close(self) -> None:
        """End everybody; when this returns, nobody is left, and there will be no others."""
        self._is_closed = True
        for nursery in tuple(self._nurseries):
            await nursery.close()

    async def _open(self, spares: int) -> tuple[Nursery, Ready]:
        if self._is_closed:
            raise TenureError("the lane is closed")
        nursery = Nursery(
            *(self._target, self._folder, spares, self._environment, self._guards),
            anew=self._anew,
            user=self._user,
            keeps_signals=self._keeps_signals,
        )
        gone = {known for known in self._nurseries if known.is_gone}
        self._of_those_gone += sum(known.children for known in gone)
        self._nurseries = (self._nurseries - gone) | {nursery}
        try:
            ready = await nursery.open()
        except BaseException:
            self._nurseries.discard(nursery)
            raise
        if ready.threads:
            self.notice = (
                f"{self._target} starts {ready.threads} thread(s) at import, so it cannot be forked: "
                "every attempt imports it anew"
            )
        return nursery, ready


async def opened_before(
    opening: Coroutine[Any, Any, Nursery], halt: Halting, timeout: timedelta
) -> Nursery | None:
    """Another zygote; None when the attempt is to stop before the app was imported, which may hang."""
    opened = asyncio.ensure_future(opening)
    halted = asyncio.ensure_future(halt.wait())
    try:
        either: set[asyncio.Future[Any]] = {opened, halted}
        await asyncio.wait(either, timeout=timeout.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
        return opened.result() if opened.done() else None
    finally:
        for waiting in (opened, halted):
            waiting.cancel()
        await asyncio.wait({opened})


def end_without_a_child(halt: Halting, timeout: timedelta) -> AttemptEnd | Unstarted | None:
    """How an attempt ended for which `opened_before` had no answer."""
    match halt.asked:
        case None:
            return TimedOut(timeout)
        case Halt.CANCELLED:
            return WasStopped()
        case Halt.LOST:
            return None
        case Halt.SHUTDOWN:
            return Unstarted(Failure("NotStarted", "the worker ended before the app was imported again"))
