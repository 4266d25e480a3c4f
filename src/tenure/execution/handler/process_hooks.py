"""The functions that an app wants called at the start and at the end of each process that runs handlers."""

from collections.abc import Callable
from typing import Any

Hook = Callable[[], Any]
"""Takes nothing; a plain function, or one that returns an awaitable."""


class ProcessHooks:
    """The hooks of one app, in the order of their registration; false if there are none."""

    __slots__ = ("start", "stop")

    def __init__(self) -> None:
        self.start: list[Hook] = []
        self.stop: list[Hook] = []

    def __bool__(self) -> bool:
        return bool(self.start or self.stop)
