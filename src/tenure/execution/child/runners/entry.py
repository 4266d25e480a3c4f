"""A runner: a child that lives on and takes attempts, one after another or many at once.

`serve` takes the place of `process.run_attempt`, and never returns either.
"""

import os
import signal
from collections.abc import Callable
from typing import NoReturn, Protocol

from tenure.core.model import lanes
from tenure.execution.child import process
from tenure.execution.child.loaded_app import LoadedApp
from tenure.execution.handler.handler import App


class RunnerBody(Protocol):
    """What serves attempts in one lane."""

    def run(self) -> NoReturn:
        """Serve until the worker no longer needs this runner."""


def serve(lane: str, descriptors: list[int], find_app: Callable[[], App]) -> NoReturn:
    """Be a runner of this lane; the descriptors are its socket, its stdout and its stderr."""
    connection = process.place_descriptors(descriptors)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    process.own_process.append(os.getpid())
    try:
        _body(lane, connection, LoadedApp(find_app)).run()
    finally:
        os._exit(1)


def _body(lane: str, connection: int, app: LoadedApp) -> RunnerBody:
    match lane:
        case lanes.WARM:
            from tenure.execution.child.runners.warm import Warm

            return Warm(connection, app)
        case lanes.ASYNC:
            from tenure.execution.child.runners.async_ import Async

            return Async(connection, app)
        case lanes.THREAD:
            from tenure.execution.child.runners.thread import Threads

            return Threads(connection, app)
    raise ValueError(f"there is no runner for the lane {lane!r}")
