"""The lane `process`, a fresh process for every attempt; and `spawn`, where each imports the app itself."""

import asyncio
from pathlib import Path

from tenure.execution.parent.attempt_terms import AttemptTerms, Ended
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.endings import without_pipes
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.parent.process_attempt import ProcessAttempt
from tenure.execution.parent.zygote_client import ZygoteClient
from tenure.execution.parent.zygotes import Zygotes
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.execution.protocol.messages import Begin


class ProcessLane:
    """Runs attempts of one app, each in a child of a zygote that is replaced when it dies.

    `target` is `module:attribute`, looked for in `folder` (the current one) first. `environment` says which
    variables children see. `guards` adopt orphans where this process may. With `anew` the zygote does not
    import the app, and every child does. With a `user` all of them run as that user, with `keeps_signals`
    attempts can send signals only to their own processes.
    """

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None = None,
        spares: int = 2,
        environment: ChildEnvironment,
        guards: OrphanGuards | None = None,
        anew: bool = False,
        user: ChildUser | None = None,
        keeps_signals: bool = False,
    ) -> None:
        self.zygotes = Zygotes(
            target,
            folder=folder,
            spares=spares,
            environment=environment,
            guards=guards,
            anew=anew,
            user=user,
            keeps_signals=keeps_signals,
        )
        """Where its children come from; other lanes may share them."""
        self._quarantine = self.zygotes.quarantine

    @property
    def notice(self) -> str | None:
        """What an operator should know of how attempts are started; None where there is nothing to say."""
        return self.zygotes.notice

    async def start(self) -> bytes:
        """Import the app in a zygote; returns its manifest, raises `AppFailed` when it has none."""
        return await self.zygotes.start()

    async def run(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run one attempt and return how it ended; when this returns, no process of it is left.

        Raises `AppFailed` when a zygote had to be replaced and the app can no longer be imported. Cancelling
        this call kills the attempt at once.
        """
        with self._quarantine.room(assignment.job) as is_apart:
            zygote = None if is_apart else self.zygotes.current
            if zygote is None or not zygote.is_open:
                opened = await self.zygotes.opened_for(terms, is_apart=is_apart)
                if isinstance(opened, Ended):
                    return opened
                zygote = opened
            try:
                return terms.stopped_early() or await self._attempt(zygote, assignment, terms)
            finally:
                if is_apart:
                    await zygote.close()

    async def ready(self) -> None:
        """Have a zygote, another one if it has died; raises `AppFailed` when there can be none."""
        await self.zygotes.replaced()

    async def close(self) -> None:
        """End every child; when this returns, no process is left. A closed lane runs nothing any more."""
        await self.zygotes.close()

    async def _attempt(self, zygote: ZygoteClient, assignment: Assignment, terms: AttemptTerms) -> Ended:
        own = self.zygotes.own(assignment.limits.environment)
        try:
            attempt = ProcessAttempt(zygote, Begin(assignment, own), terms)
        except OSError as error:
            return without_pipes(error)
        ended, litter = await attempt.run()
        self._quarantine.judge(assignment.job, has_died=attempt.has_lost_its_zygote)
        if litter is not None:
            await asyncio.to_thread(zygote.remove_litter, litter)
        return self.zygotes.explained(ended, assignment.limits.environment)
