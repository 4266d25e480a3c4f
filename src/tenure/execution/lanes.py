"""The lanes of one worker by name: the ways in which its attempts may be run."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

from tenure.core.errors import TenureError
from tenure.execution.assignment import Assignment
from tenure.execution.guards import Guards
from tenure.execution.halting import Ended, Halting, Listener
from tenure.execution.lane import ProcessLane
from tenure.execution.running import SharedLane, WarmLane
from tenure.execution.user import User


class Terms(TypedDict):
    """On which an attempt is run: for how long, how it is told to stop, and who hears what it says."""

    timeout: timedelta
    grace: timedelta
    halt: Halting
    listener: Listener


class Lane(Protocol):
    """Runs attempts, each isolated as the lane promises."""

    async def run(self, assignment: Assignment, **terms: Unpack[Terms]) -> Ended:
        """Run one attempt and say how it ended; when this returns, nothing of it is left."""


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
        environment: Mapping[str, str],
        guards: Guards | None = None,
        user: User | None = None,
        keeps_signals: bool = False,
    ) -> None:
        guards = guards or Guards()
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
        self._lanes: dict[str, Lane] = {
            "process": self._process,
            "command": self._process,
            "spawn": self._spawn,
            "warm": WarmLane(self._process.nurseries),
            "async": SharedLane(self._process.nurseries, "async"),
            "thread": SharedLane(self._process.nurseries, "thread"),
        }

    @property
    def notice(self) -> str | None:
        """What an operator should know of how attempts are started; None where all is as it should be."""
        return self._process.notice

    @property
    def children(self) -> int:
        """How many processes were asked for so far, for attempts and for runners."""
        return self._process.nurseries.children + self._spawn.nurseries.children

    async def start(self) -> bytes:
        """Import the app in a zygote; answers with its manifest, raises `AppFailed` when it has none."""
        return await self._process.start()

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

    async def close(self) -> None:
        """End everybody; when this returns, nobody is left. Closed lanes run nothing any more."""
        await self._process.close()
        await self._spawn.close()
        await asyncio.sleep(0)  # until the runners' ends are known, and what they had is closed
