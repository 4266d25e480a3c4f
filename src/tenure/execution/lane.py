"""The lane `process`: a fresh process for every attempt."""

import asyncio
import shutil
from collections.abc import Coroutine, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from tenure.core.errors import TenureError
from tenure.core.outcome import Failure
from tenure.core.retry import AttemptEnd, TimedOut, WasStopped
from tenure.core.trail import Usage
from tenure.execution import limits
from tenure.execution.assignment import Assignment
from tenure.execution.attempt import Attempt
from tenure.execution.guards import Guards
from tenure.execution.halting import Ended, Halt, Halting, Interrupted, Listener, Unstarted
from tenure.execution.nursery import Nursery
from tenure.execution.protocol import Begin, Ready
from tenure.execution.suspects import Suspects

__all__ = ["Ended", "Halt", "Halting", "Interrupted", "Listener", "ProcessLane", "Unstarted"]


class ProcessLane:
    """Runs attempts of one app, each in a child of a zygote that is replaced when it dies.

    `target` is `module:attribute`, looked for in `folder` (the current one) first. Of `environment`, the
    worker's own, children see what the allow-list and their definitions name. `guards` adopt orphans where
    this process may.
    """

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None = None,
        spares: int = 2,
        environment: Mapping[str, str],
        guards: Guards | None = None,
    ) -> None:
        self._target = target
        self._folder = folder or Path.cwd()
        self._spares = spares
        self._environment = dict(environment)
        self._own = limits.own(self._environment, ())
        self._guards = guards or Guards()
        self._nursery: Nursery | None = None
        self._nurseries: set[Nursery] = set()
        self._suspects = Suspects()
        self._opening = asyncio.Lock()
        self._is_closed = False
        self.notice: str | None = None
        """What an operator should know of how attempts are started; None where all is as it should be."""

    async def start(self) -> bytes:
        """Import the app in a zygote; answers with its manifest, raises `AppFailed` when it has none."""
        self._nursery, ready = await self._open(self._spares)
        return ready.manifest

    async def run(
        self,
        assignment: Assignment,
        *,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        """Run one attempt and say how it ended; when this returns, no process of it is left.

        Raises `AppFailed` when a zygote had to be replaced and the app can no longer be imported. Cancelling
        this call kills the attempt at once.
        """
        with self._suspects.room(assignment.job) as is_apart:
            nursery = None if is_apart else self._nursery
            if nursery is None or not nursery.is_open:
                opening = self._opened_apart() if is_apart else self._replaced()
                nursery = await _opened_before(opening, halt, timeout)
                if nursery is None:
                    return Ended(_end_without_a_child(halt, timeout), Usage())
            try:
                return await self._attempt(nursery, assignment, timeout, grace, halt, listener)
            finally:
                if is_apart:
                    await nursery.close()

    async def ready(self) -> None:
        """Have a zygote, another one if it has died; raises `AppFailed` when there can be none."""
        await self._replaced()

    async def close(self) -> None:
        """End every child; when this returns, nobody is left. A closed lane runs nothing any more."""
        self._is_closed = True
        for nursery in tuple(self._nurseries):
            await nursery.close()

    async def _attempt(
        self,
        nursery: Nursery,
        assignment: Assignment,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        named = assignment.limits.environment
        own = limits.own(self._environment, named) if named else self._own
        try:
            attempt = Attempt(nursery, Begin(assignment, own), listener, halt)
        except OSError as error:
            return Ended(Unstarted(Failure("NotStarted", f"no pipes could be made for it: {error}")), Usage())
        ended, litter = await attempt.run(timeout, grace)
        self._suspects.judge(assignment.job, zygote_died=attempt.has_lost_its_zygote)
        if litter is not None:
            await asyncio.to_thread(shutil.rmtree, litter, ignore_errors=True)
        return ended

    async def _replaced(self) -> Nursery:
        async with self._opening:
            if self._nursery is None or not self._nursery.is_open:
                self._nursery, _ = await self._open(self._spares)
            return self._nursery

    async def _opened_apart(self) -> Nursery:
        nursery, _ = await self._open(0)
        return nursery

    async def _open(self, spares: int) -> tuple[Nursery, Ready]:
        if self._is_closed:
            raise TenureError("the lane is closed")
        nursery = Nursery(self._target, self._folder, spares, self._environment, self._guards)
        self._nurseries = {known for known in self._nurseries if not known.is_gone} | {nursery}
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


async def _opened_before(
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


def _end_without_a_child(halt: Halting, timeout: timedelta) -> AttemptEnd | Unstarted | None:
    match halt.asked:
        case None:
            return TimedOut(timeout)
        case Halt.CANCELLED:
            return WasStopped()
        case Halt.LOST:
            return None
        case Halt.SHUTDOWN:
            return Unstarted(Failure("NotStarted", "the worker ended before the app was imported again"))
