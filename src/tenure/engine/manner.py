"""How a worker works: who it is, what it serves, and how long things may take."""

import os
from datetime import timedelta
from typing import NamedTuple

from msgspec import Struct

from tenure.core.bounds import LARGEST_BATCH, LEASE_LENGTH, whole, within
from tenure.core.errors import InvalidInput
from tenure.core.lease import Line
from tenure.core.operations import Retention
from tenure.execution.assignment import Limits
from tenure.execution.machine import usual_memory
from tenure.settings import Settings

MOST_SLOTS = LARGEST_BATCH
BEATS_A_LEASE = 3
CALM_POLLS = 10
"""How many polls a worker that hears hints waits for one, at most."""


def usual_limits(settings: Settings) -> Limits:
    """What an attempt may take, as the settings say; of memory half of all there is if they say nothing."""
    memory = settings.child_memory_bytes
    return Limits(
        memory=(usual_memory() if memory is None else memory) or None,
        files=settings.child_files or None,
        file_size=settings.child_file_bytes or None,
    )


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
    """How many attempts may run at once, each in a process of its own."""
    warm_slots: int = 2
    """How many children are kept for attempts of lane `warm`."""
    async_slots: int = 100
    thread_slots: int = 20
    buffer: int | None = None
    """How many jobs may be held beyond those that run; None for as many as begin within a moment."""
    lease: timedelta = timedelta(seconds=30)
    """How long this worker goes on without a sign from the store."""
    lost_margin: timedelta = timedelta(0)
    """How much longer the store waits before it gives a silent worker's jobs to others."""
    heartbeat: timedelta | None = None
    """How often to say that one is alive; None for a third of the lease."""
    poll: timedelta = timedelta(seconds=1)
    """How long nobody looks, at most: the safety net below hints, and how late a due job may start."""
    shutdown: timedelta = timedelta(seconds=30)
    """How long to wait for what runs, once asked to stop."""
    retention: Retention = Retention()
    limits: Limits = Limits()
    """What an attempt may take where its definition does not say."""

    def __post_init__(self) -> None:
        for name in ("slots", "warm_slots", "async_slots", "thread_slots"):
            whole(name, getattr(self, name), 1, MOST_SLOTS)
        if self.buffer is not None:
            whole("buffer", self.buffer, 0, MOST_SLOTS - self.slots)
        within("lease", self.lease, *LEASE_LENGTH)
        within("lost_margin", self.lost_margin, timedelta(0), LEASE_LENGTH[1] - self.lease)
        within("poll", self.poll, timedelta(milliseconds=1), timedelta(minutes=1))
        within("shutdown", self.shutdown, timedelta(0), timedelta(days=7))
        if self.heartbeat is not None and not timedelta(0) < 2 * self.heartbeat < self.lease:
            raise InvalidInput("heartbeat", f"is {self.heartbeat}", "let a lease be longer than two")

    @classmethod
    def of(cls, settings: Settings, *, worker: str, lines: tuple[Line, ...]) -> "Manner":
        """What the settings say."""
        return cls(
            worker=worker,
            lines=lines,
            slots=settings.slots,
            warm_slots=settings.warm_slots or len(os.sched_getaffinity(0)),
            async_slots=settings.async_slots,
            thread_slots=settings.thread_slots,
            buffer=settings.buffer,
            lease=timedelta(seconds=settings.lease_seconds),
            lost_margin=timedelta(seconds=settings.lost_margin_seconds),
            heartbeat=timedelta(seconds=settings.heartbeat),
            poll=timedelta(seconds=settings.poll_seconds),
            shutdown=timedelta(seconds=settings.shutdown_seconds),
            limits=usual_limits(settings),
        )

    def hold(self, asked_at: float) -> Hold:
        """What a lease that was asked for at that time is good for: the store counts from later on."""
        return Hold(asked_at + 0.8 * self.lease_seconds, asked_at + 0.9 * self.lease_seconds)

    @property
    def lease_for(self) -> timedelta:
        """The lease that the store is asked for."""
        return self.lease + self.lost_margin

    @property
    def lease_seconds(self) -> float:
        """The lease's length, without the margin, as a number."""
        return self.lease.total_seconds()

    @property
    def poll_seconds(self) -> float:
        """The time between two looks as a number."""
        return self.poll.total_seconds()

    @property
    def calm_poll_seconds(self) -> float:
        """The time between two looks while nothing happens and hints would tell if it did."""
        return max(self.poll_seconds, min(CALM_POLLS * self.poll_seconds, self.lease_seconds / 3))

    @property
    def heartbeat_seconds(self) -> float:
        """The time between two heartbeats as a number."""
        beat = self.lease / BEATS_A_LEASE if self.heartbeat is None else self.heartbeat
        return beat.total_seconds()
