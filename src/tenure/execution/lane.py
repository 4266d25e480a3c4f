"""The lane `process`, a fresh process for every attempt; and `spawn`, where each imports the app itself."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from tenure.core.outcome import Failure
from tenure.core.trail import Usage
from tenure.execution.assignment import Assignment
from tenure.execution.attempt import Attempt
from tenure.execution.guards import Guards
from tenure.execution.halting import Ended, Halt, Halting, Interrupted, Listener, Unstarted
from tenure.execution.nurseries import Nurseries, end_without_a_child, opened_before
from tenure.execution.nursery import Nursery
from tenure.execution.protocol import Begin
from tenure.execution.user import User

__all__ = ["Ended", "Halt", "Halting", "Interrupted", "Listener", "ProcessLane", "Unstarted"]


class ProcessLane:
    """Runs attempts of one app, each in a child of a zygote that is replaced when it dies.

    `target` is `module:attribute`, looked for in `folder` (the current one) first. Of `environment`, the
    worker's own, children see what the allow-list and their definitions name. `guards` adopt orphans where
    this process may. With `anew` the zygote knows nothing of the app, and every child imports it. With a
    `user` all of them are that user's, with `keeps_signals` attempts can send signals to none but their own
    processes.
    """

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None = None,
        spares: int = 2,
        environment: Mapping[str, str],
        guards: Guards | None = None,
        anew: bool = False,
        user: User | None = None,
        keeps_signals: bool = False,
    ) -> None:
        self.nurseries = Nurseries(
            target,
            folder=folder,
            spares=spares,
            environment=environment,
            guards=guards,
            anew=anew,
            user=user,
            keeps_signals=keeps_signals,
        )
        """Where its children come from; other lanes may have theirs from there too."""
        self._suspects = self.nurseries.suspects

    @property
    def notice(self) -> str | None:
        """What an operator should know of how attempts are started; None where all is as it should be."""
        return self.nurseries.notice

    async def start(self) -> bytes:
        """Import the app in a zygote; answers with its manifest, raises `AppFailed` when it has none."""
        return await self.nurseries.start()

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
            nursery = None if is_apart else self.nurseries.current
            if nursery is None or not nursery.is_open:
                opening = self.nurseries.apart() if is_apart else self.nurseries.replaced()
                nursery = await opened_before(opening, halt, timeout)
                if nursery is None:
                    return Ended(end_without_a_child(halt, timeout), Usage())
            try:
                return await self._attempt(nursery, assignment, timeout, grace, halt, listener)
            finally:
                if is_apart:
                    await nursery.close()

    async def ready(self) -> None:
        """Have a zygote, another one if it has died; raises `AppFailed` when there can be none."""
        await self.nurseries.replaced()

    async def close(self) -> None:
        """End every child; when this returns, nobody is left. A closed lane runs nothing any more."""
        await self.nurseries.close()

    async def _attempt(
        self,
        nursery: Nursery,
        assignment: Assignment,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        own = self.nurseries.own(assignment.limits.environment)
        try:
            attempt = Attempt(nursery, Begin(assignment, own), listener, halt)
        except OSError as error:
            return Ended(Unstarted(Failure("NotStarted", f"no pipes could be made for it: {error}")), Usage())
        ended, litter = await attempt.run(timeout, grace)
        self._suspects.judge(assignment.job, has_died=attempt.has_lost_its_zygote)
        if litter is not None:
            await asyncio.to_thread(nursery.remove_litter, litter)
        return ended
