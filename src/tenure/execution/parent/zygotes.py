"""The zygotes of one app: one for all lanes, replaced when it dies, and some for one attempt alone."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tenure.core.errors import TenureError
from tenure.core.model.retry import AttemptEnd, Raised, TimedOut, WasStopped
from tenure.core.model.trail import Usage
from tenure.core.values.failure import Failure
from tenure.execution.handler.handler import AppFailed
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended, StopReason, Unstarted
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.parent.quarantine import Quarantine
from tenure.execution.parent.zygote_client import ZygoteClient
from tenure.execution.parent.zygote_launch import ZygoteLaunch
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.execution.protocol.messages import Ready


class Zygotes:
    """Opens zygotes for one app and ends them all; with `anew` their children import the app themselves."""

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None,
        spares: int,
        environment: ChildEnvironment,
        guards: OrphanGuards | None,
        anew: bool = False,
        user: ChildUser | None = None,
        keeps_signals: bool = False,
    ) -> None:
        self._launch = ZygoteLaunch(
            target=target,
            folder=folder or Path.cwd(),
            spares=spares,
            environment=environment.shared,
            guards=guards or OrphanGuards(),
            anew=anew,
            user=user,
            keeps_signals=keeps_signals,
        )
        self._environment = environment
        self._zygotes: set[ZygoteClient] = set()
        self._children_of_gone = 0
        self._opening = asyncio.Lock()
        self._is_closed = False
        self.current: ZygoteClient | None = None
        """The one that attempts share; it may have died."""
        self.quarantine = Quarantine()
        """Jobs that were running when a zygote died."""
        self.has_stop_hooks = False
        """Whether the app has something to do at the end of each process."""
        self.notice: str | None = None
        """What an operator should know of how attempts are started; None where there is nothing to say."""

    @property
    def children(self) -> int:
        """How many children were started so far, by all zygotes."""
        return self._children_of_gone + sum(zygote.children for zygote in self._zygotes)

    def own(self, names: Iterable[str]) -> dict[str, str]:
        """The variables that an attempt is given beyond what its zygote has."""
        return self._environment.own(names) if names else {}

    def explained(self, ended: Ended, names: Iterable[str]) -> Ended:
        """How an attempt ended; a failure for want of a variable that the worker has says so."""
        if not isinstance(ended.end, Raised):
            return ended
        error = self._environment.explained(ended.end.error, names)
        return Ended(replace(ended.end, error=error), ended.usage)

    async def start(self) -> bytes:
        """Import the app; returns its manifest, raises `AppFailed` when it has none."""
        self.current, ready = await self._open(self._launch)
        return ready.manifest

    async def replaced(self) -> ZygoteClient:
        """The shared one, another one if it has died; raises `AppFailed` when there can be none."""
        async with self._opening:
            if self.current is None or not self.current.is_open:
                self.current, _ = await self._open(self._launch)
            return self.current

    async def opened_for(self, terms: AttemptTerms, *, is_apart: bool) -> ZygoteClient | Ended:
        """A zygote for an attempt, or how the attempt ended if it had to stop before the app was imported.

        The import may hang. With `is_apart` the zygote is for this attempt alone, and the caller closes it.
        """
        opened = asyncio.ensure_future(self._open_apart() if is_apart else self.replaced())
        stopped = asyncio.ensure_future(terms.stop.wait())
        try:
            either: set[asyncio.Future[Any]] = {opened, stopped}
            longest = terms.timeout.total_seconds()
            await asyncio.wait(either, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
            return opened.result() if opened.done() else Ended(_end_without_a_child(terms), Usage())
        finally:
            for waiting in (opened, stopped):
                waiting.cancel()
            await asyncio.wait({opened})

    async def close(self) -> None:
        """End all of them; when this returns, no process is left, and there will be no others."""
        self._is_closed = True
        for zygote in tuple(self._zygotes):
            await zygote.close()

    async def _open_apart(self) -> ZygoteClient:
        zygote, _ = await self._open(replace(self._launch, spares=0))
        return zygote

    async def _open(self, launch: ZygoteLaunch) -> tuple[ZygoteClient, Ready]:
        if self._is_closed:
            raise TenureError("the lane is closed")
        zygote = ZygoteClient(launch)
        zygote.has_stop_hooks = self.has_stop_hooks
        gone = {known for known in self._zygotes if known.is_gone}
        self._children_of_gone += sum(known.children for known in gone)
        self._zygotes = (self._zygotes - gone) | {zygote}
        try:
            ready = await zygote.open()
        except AppFailed as error:
            self._zygotes.discard(zygote)
            raise AppFailed(error.target, self._environment.explained(error.error)) from None
        except BaseException:
            self._zygotes.discard(zygote)
            raise
        self.has_stop_hooks = zygote.has_stop_hooks
        if ready.threads:
            self.notice = (
                f"{launch.target} starts {ready.threads} thread(s) at import, so it cannot be forked: "
                "every attempt imports it anew"
            )
        return zygote, ready


def _end_without_a_child(terms: AttemptTerms) -> AttemptEnd | Unstarted | None:
    match terms.stop.reason:
        case None:
            return TimedOut(terms.timeout)
        case StopReason.CANCELLED:
            return WasStopped()
        case StopReason.LOST:
            return None
        case StopReason.SHUTDOWN:
            return Unstarted(Failure("NotStarted", "the worker ended before the app was imported again"))
