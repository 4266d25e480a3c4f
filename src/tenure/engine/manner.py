"""How a worker works: who it is, what it serves, and how long things may take."""

from datetime import timedelta
from typing import NamedTuple

from msgspec import Struct

from tenure.core.bounds import LEASE_LENGTH, whole, within
from tenure.core.lease import Line
from tenure.core.operations import Retention

MOST_SLOTS = 10_000
POLL = timedelta(seconds=1)
"""How long nobody looks, at most: the safety net below hints, and how late a due job may start."""


class Hold(NamedTuple):
    """Until when an attempt is surely ours, by the monotonic clock.

    At the first time the worker halts it; at the second its lane kills it, should the worker be frozen. The
    lease itself ends later than both.
    """

    halt_at: float
    kill_at: float


class Manner(Struct, frozen=True, kw_only=True):
    """What a worker is told once. `worker` is new at every start of a process."""

    worker: str
    lines: tuple[Line, ...]
    slots: int
    lease_for: timedelta = timedelta(seconds=30)
    shutdown: timedelta = timedelta(seconds=30)
    """How long to wait for what runs, once asked to stop."""
    retention: Retention = Retention()

    def __post_init__(self) -> None:
        whole("slots", self.slots, 1, MOST_SLOTS)
        within("lease_for", self.lease_for, *LEASE_LENGTH)
        within("shutdown", self.shutdown, timedelta(0), timedelta(days=7))

    def hold(self, asked_at: float) -> Hold:
        """What a lease that was asked for at that time is good for: the store counts from later on."""
        return Hold(asked_at + 0.8 * self.lease_seconds, asked_at + 0.9 * self.lease_seconds)

    @property
    def lease_seconds(self) -> float:
        """The lease's length as a number."""
        return self.lease_for.total_seconds()
