"""Runs an app's hooks around the attempts of one process: start before the first, stop after the last.

If a start hook fails, so does the attempt that it was to precede, which is retried as its policy says; its
process ends without stop hooks, and the next attempt gets another one. Stop hooks run in the reverse order,
each whatever becomes of the others.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tenure.core.errors import ProcessStartFailed
from tenure.core.model.retry import HandlerReport
from tenure.execution.child.performance import handler_traceback, report_of
from tenure.execution.handler.handler import App
from tenure.execution.handler.process_hooks import Hook, ProcessHooks
from tenure.execution.protocol.assignment import Assignment

Run = Callable[[Any], Any]
"""Runs an awaitable to its end."""


class ProcessLife:
    """The hooks of this process, and whether they have run."""

    def __init__(self, find_app: Callable[[], App]) -> None:
        self._find_app = find_app
        self._hooks: ProcessHooks | None = None
        self._failure: HandlerReport | None = None
        self.has_started = False

    def start(self, assignment: Assignment, run: Run) -> HandlerReport | None:
        """Run the start hooks, unless they have run; returns the report of an attempt that cannot begin."""
        if self._failure is not None:
            return self._failure
        try:
            for hook in self._due(assignment):
                try:
                    started = hook()
                    if hasattr(started, "__await__"):
                        run(started)
                except Exception as error:
                    raise _failed(hook, error) from error
        except BaseException as error:  # SystemExit and CancelledError too
            return self._fail(error)
        return None

    async def start_in_loop(self, assignment: Assignment) -> HandlerReport | None:
        """The same in a running event loop."""
        try:
            for hook in self._due(assignment):
                try:
                    started = hook()
                    if hasattr(started, "__await__"):
                        await started
                except Exception as error:
                    raise _failed(hook, error) from error
        except BaseException as error:
            return self._fail(error)
        return None

    def stop(self, run: Run) -> list[tuple[str, BaseException]]:
        """Run the stop hooks if the start hooks have run; returns those that failed, by name."""
        failures = []
        for hook in self._ending():
            try:
                stopped = hook()
                if hasattr(stopped, "__await__"):
                    run(stopped)
            except BaseException as error:
                failures.append((_name(hook), error))
        return failures

    async def stop_in_loop(self) -> list[tuple[str, BaseException]]:
        """The same in a running event loop."""
        failures = []
        for hook in self._ending():
            try:
                stopped = hook()
                if hasattr(stopped, "__await__"):
                    await stopped
            except BaseException as error:
                failures.append((_name(hook), error))
        return failures

    def _due(self, assignment: Assignment) -> Iterator[Hook]:
        """The start hooks, if they have not run; a program needs none of them."""
        if self.has_started:
            return
        app = self._find_app()
        handler = app.handler(assignment.definition, assignment.version)
        if handler.is_program and assignment.hook is None:
            return
        self._hooks = getattr(app, "process_hooks", None)
        if self._hooks is not None:
            yield from self._hooks.start
        self.has_started = True

    def _ending(self) -> list[Hook]:
        if not self.has_started or self._hooks is None:
            return []
        self.has_started = False
        return self._hooks.stop[::-1]

    def _fail(self, error: BaseException) -> HandlerReport:
        self._failure = report_of(error)
        return self._failure


def print_failures(failures: list[tuple[str, BaseException]]) -> None:
    """Print what stop hooks raised to standard error, which is part of some log."""
    import sys
    import traceback

    for name, error in failures:
        sys.stderr.write(f"on_process_stop {name} failed:\n")
        traceback.print_exception(error.with_traceback(handler_traceback(error.__traceback__)))
    sys.stderr.flush()


def _failed(hook: Hook, error: Exception) -> ProcessStartFailed:
    return ProcessStartFailed(_name(hook), error.with_traceback(handler_traceback(error.__traceback__)))


def _name(hook: Hook) -> str:
    return getattr(hook, "__qualname__", repr(hook)[:64])
