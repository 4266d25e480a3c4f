"""The lanes of one worker by name: the ways in which it runs attempts."""

import asyncio
from pathlib import Path
from typing import Protocol

from tenure.core.errors import TenureError
from tenure.core.model.lanes import ASYNC, COMMAND, PROCESS, SPAWN, THREAD, WARM
from tenure.execution.parent.attempt_terms import AttemptTerms, Ended
from tenure.execution.parent.child_user import ChildUser
from tenure.execution.parent.orphans import OrphanGuards
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.parent.runner_lanes import RunnerLane, SharedLane, WarmLane
from tenure.execution.protocol.assignment import Assignment
from tenure.execution.protocol.environment import ChildEnvironment


class Lane(Protocol):
    """Runs attempts, each isolated as the lane promises."""

    async def run(self, assignment: Assignment, terms: AttemptTerms) -> Ended:
        """Run one attempt and return how it ended; when this returns, nothing of it is left."""


class LaneSet(Protocol):
    """The lanes of one app, as the engine asks for them."""

    def named(self, name: str) -> Lane:
        """The lane that a definition names."""

    async def ready(self) -> None:
        """Return when attempts can be started; raises `AppFailed` when the app can no longer be imported."""


class Lanes:
    """Every lane of one app; all of them but `spawn` share one zygote, which has imported the app.

    The arguments are those of `ProcessLane`. What only some lanes need is started when it is first used.
    """

    def __init__(
        self,
        target: str,
        *,
        folder: Path | None = None,
        spares: int = 2,
        environment: ChildEnvironment,
        guards: OrphanGuards | None = None,
        user: ChildUser | None = None,
        keeps_signals: bool = False,
    ) -> None:
        guards = guards or OrphanGuards()
        self._process, self._spawn = (
            ProcessLane(
                target,
                folder=folder,
                spares=spares,
                environment=environment,
                guards=guards,
                anew=anew,
                user=user,
                keeps_signals=keeps_signals,
            )
            for anew in (False, True)
        )
        zygotes = self._process.zygotes
        self._runner_lanes: dict[str, RunnerLane] = {
            WARM: WarmLane(zygotes),
            ASYNC: SharedLane(zygotes, ASYNC),
            THREAD: SharedLane(zygotes, THREAD),
        }
        self._lanes: dict[str, Lane] = {
            PROCESS: self._process,
            COMMAND: self._process,
            SPAWN: self._spawn,
            **self._runner_lanes,
        }

    @property
    def notice(self) -> str | None:
        """What an operator should know of how attempts are started; None where there is nothing to say."""
        return self._process.notice

    @property
    def children(self) -> int:
        """How many processes were started so far, for attempts and for runners."""
        return self._process.zygotes.children + self._spawn.zygotes.children

    async def start(self) -> bytes:
        """Import the app in a zygote; returns its manifest, raises `AppFailed` when it has none."""
        manifest = await self._process.start()
        self._spawn.zygotes.has_stop_hooks = self._process.zygotes.has_stop_hooks
        return manifest

    def named(self, name: str) -> Lane:
        """The lane of this name."""
        try:
            return self._lanes[name]
        except KeyError:
            known = ", ".join(sorted(self._lanes))
            raise TenureError(f"there is no lane {name!r:.64}; there are {known}") from None

    async def ready(self) -> None:
        """Have a zygote, another one if it has died; raises `AppFailed` when there can be none."""
        await self._process.ready()

    async def close(self, *, at_once: bool = False) -> None:
        """End all processes; when this returns, none is left. Closed lanes run nothing any more.

        Unless `at_once`, runners first run the app's stop hooks.
        """
        if self._process.zygotes.has_stop_hooks and not at_once:
            await asyncio.gather(*(lane.retire() for lane in self._runner_lanes.values()))
        await self._process.close()
        await self._spawn.close()
        await asyncio.sleep(0)  # until the runners' ends are known, and their sockets are closed
