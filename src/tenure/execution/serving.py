"""A runner: a child that lives on and takes attempts, one after another or many at once.

`serve` begins where `child.attend` does in a child that is there for one attempt, and never returns either.
"""

import os
import signal
from collections.abc import Callable
from typing import NoReturn, Protocol

from tenure.execution import child
from tenure.execution.found import Found
from tenure.execution.handler import App


class Server(Protocol):
    """What serves attempts in one lane."""

    def run(self) -> NoReturn:
        """Serve until the worker has no more use for it."""


def serve(lane: str, descriptors: list[int], find: Callable[[], App]) -> NoReturn:
    """Be a runner of this lane; the descriptors are its socket, its stdout and its stderr."""
    connection = child.settle_in(descriptors)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        _server(lane, connection, Found(find)).run()
    finally:
        os._exit(1)


def _server(lane: str, connection: int, found: Found) -> Server:
    match lane:
        case "warm":
            from tenure.execution.serving_warm import Warm

            return Warm(connection, found)
        case "async":
            from tenure.execution.serving_async import Async

            return Async(connection, found)
        case "thread":
            from tenure.execution.serving_thread import Threads

            return Threads(connection, found)
    raise ValueError(f"there is no runner for the lane {lane!r}")
