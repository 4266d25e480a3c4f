"""What a fault is: something that is done to a scene, and the record of having done it."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Literal

from msgspec import Struct

from chaos.ground import Kind
from chaos.scene import Scene

IN_A_WRITE = "in the middle of a write"
"""The mark of a strike that stopped a worker with the only lock of an SQLite file: nobody writes then."""


class Strike(Struct, frozen=True, kw_only=True):
    """A fault that struck. Times are CLOCK_MONOTONIC: when it began and when it was over."""

    fault: str
    began: float
    ended: float
    worker: str | None = None
    """The worker that it struck, by name."""
    what: str = ""
    """Which of several ways it took."""


Act = Callable[[Scene, Random], Awaitable[list[Strike]]]
"""Does it once; no strike where there was nothing to strike at."""


class Fault(Struct, frozen=True, kw_only=True):
    """A way to harm a run, with the number by which it is known."""

    name: str
    number: str
    act: Act
    what: str
    stores: frozenset[Kind] = frozenset({"sqlite", "postgres"})
    every: float = 1.0
    """Seconds between two of them, on average."""
    at_once: int = 3
    """How many of them may have hold of a run at the same time."""
    holds_up: Literal["one", "all", "nobody"] = "nobody"
    """Whom it keeps from work without ending it: the worker that it strikes, or every one."""
    counters: tuple[str, ...] = ()
    """What a run of several of these must have brought about at least once."""
