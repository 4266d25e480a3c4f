"""The hooks of a process that runs one attempt: on the event loop of its handler, which is kept for them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenure.core.model.retry import HandlerReport
from tenure.execution.child.performance import perform
from tenure.execution.child.process import awaited
from tenure.execution.child.process_life import ProcessLife, print_failures
from tenure.execution.handler.channel import Channel
from tenure.execution.handler.handler import App
from tenure.execution.protocol.assignment import Assignment

if TYPE_CHECKING:
    import asyncio


class AttemptLife(ProcessLife):
    """Runs start hooks, an attempt and stop hooks in one process."""

    def __init__(self, find_app: Callable[[], App]) -> None:
        super().__init__(find_app)
        self._runner: asyncio.Runner | None = None

    def perform(self, channel: Channel, assignment: Assignment, find_app: Callable[[], App]) -> HandlerReport:
        """Run the start hooks and the attempt, and return its report."""
        failed = self.start(assignment, lambda started: self._run(channel, started))
        return failed or perform(channel, assignment, find_app, self._run)

    def finish(self) -> None:
        """Run the stop hooks; the worker has the report and waits a few seconds for them."""
        print_failures(self.stop(lambda stopped: self._kept().run(_alone(stopped))))
        if self._runner is not None:
            self._runner.close()

    def _run(self, channel: Any, awaitable: Any) -> Any:
        return self._kept().run(awaited(channel, awaitable))

    def _kept(self) -> "asyncio.Runner":
        import asyncio

        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner


async def _alone(awaitable: Any) -> Any:
    return await awaitable
