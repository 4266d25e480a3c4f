"""What the engine asks of lanes: ways to run attempts."""

from datetime import timedelta
from typing import Protocol

from tenure.execution.assignment import Assignment
from tenure.execution.halting import Ended, Halting, Listener


class Lane(Protocol):
    """Runs attempts, each isolated as the lane promises."""

    async def run(
        self,
        assignment: Assignment,
        *,
        timeout: timedelta,
        grace: timedelta,
        halt: Halting,
        listener: Listener,
    ) -> Ended:
        """Run one attempt and say how it ended; when this returns, nothing of it is left."""


class Lanes(Protocol):
    """Every lane of one app."""

    def named(self, name: str) -> Lane:
        """The lane that a definition asks for."""

    async def ready(self) -> None:
        """Return when attempts can be started; raises `AppFailed` when the app can no longer be imported."""
