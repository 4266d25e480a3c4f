"""The configuration of a worker: its name, the lines it serves, its slots and its times."""

import os
import secrets
import socket
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import NamedTuple

from msgspec import Struct

from tenure.core.errors import InvalidInput
from tenure.core.model.lanes import LANES
from tenure.core.model.lease import Line
from tenure.core.model.spec import Spec
from tenure.core.values.bounds import LARGEST_BATCH, LEASE_LENGTH, whole, within
from tenure.execution.parent.memory_size import usual_memory
from tenure.execution.protocol.assignment import ResourceLimits
from tenure.settings.settings import Settings

MOST_SLOTS = LARGEST_BATCH
BEATS_A_LEASE = 3
CALM_POLLS = 10
"""How many polls a worker that gets hints may wait between two looks."""


def served_lines(specs: Iterable[Spec], queues: Collection[str] = ()) -> tuple[Line, ...]:
    """The lines of these definitions: each in its own queue, or in every queue that is named."""
    lines = {Line(queue, spec.key, spec.version) for spec in specs for queue in (queues or (spec.queue,))}
    if not lines:
        raise InvalidInput("app", "has no definitions", "register functions with @app.job")
    return tuple(sorted(lines))


def new_worker_name() -> str:
    """A name for a worker: its host, and a part that is unique to this start of the process."""
    return f"{socket.gethostname()[:64]}-{os.getpid()}-{secrets.token_hex(6)}"


def default_limits(settings: Settings) -> ResourceLimits:
    """The limits of an attempt by the settings; without a setting it may use half of the memory."""
    memory = settings.child_memory_bytes
    return ResourceLimits(
        memory=(usual_memory() if memory is None else memory) or None,
        files=settings.child_files or None,
        file_size=settings.child_file_bytes or None,
    )


class LeaseDeadlines(NamedTuple):
    """Local deadlines of a lease, by the monotonic clock.

    The worker halts the attempt at the first; its lane kills it at the second, in case the worker is frozen.
    The lease itself ends later than both.
    """

    halt_at: float
    kill_at: float


class WorkerConfig(Struct, frozen=True, kw_only=True):
    """The configuration of one worker. `worker`, its name, is new at every start of a process."""

    worker: str
    lines: tuple[Line, ...]
    slots: int
    """How many attempts may run at once, each in its own process."""
    warm_slots: int = 2
    """How many children are kept for attempts of lane `warm`."""
    async_slots: int = 100
    thread_slots: int = 20
    buffer: int | None = None
    """How many jobs may be held beyond those that run; None for as many as start within a moment."""
    lease: timedelta = timedelta(seconds=30)
    """How long this worker continues without an answer from the store."""
    lost_margin: timedelta = timedelta(0)
    """How much longer the store waits before it gives a silent worker's jobs to others."""
    heartbeat: timedelta | None = None
    """The time between two heartbeats; None for a third of the lease."""
    poll: timedelta = timedelta(seconds=1)
    """The longest time between two looks: the fallback for lost hints, and how late a due job may start."""
    sweep: timedelta = timedelta(seconds=30)
    """The time between two claims that no message has led to, of a worker that messages lead to jobs."""
    shutdown: timedelta = timedelta(seconds=30)
    """How long to wait for running attempts after a stop."""
    limits: ResourceLimits = ResourceLimits()
    """The limits of an attempt where its definition sets none."""
    max_queue_depth: int = 0
    """How many jobs may stand in one queue before schedules add no more; 0 means no bound."""
    max_namespace_jobs: int = 0
    """How many jobs of one namespace may be unfinished before schedules add no more; 0 means no bound."""

    def __post_init__(self) -> None:
        for name in dict.fromkeys(lane.slots for lane in LANES.values()):
            whole(name, getattr(self, name), 1, MOST_SLOTS)
        if self.buffer is not None:
            whole("buffer", self.buffer, 0, MOST_SLOTS - self.slots)
        within("lease", self.lease, *LEASE_LENGTH)
        within("lost_margin", self.lost_margin, timedelta(0), LEASE_LENGTH[1] - self.lease)
        within("poll", self.poll, timedelta(milliseconds=1), timedelta(minutes=1))
        within("shutdown", self.shutdown, timedelta(0), timedelta(days=7))
        if self.heartbeat is not None and not timedelta(0) < 2 * self.heartbeat < self.lease:
            remedy = "give more than 0 and less than half of the lease"
            raise InvalidInput("heartbeat", f"is {self.heartbeat}", remedy)

    @classmethod
    def of(cls, settings: Settings, *, worker: str, lines: tuple[Line, ...]) -> "WorkerConfig":
        """The configuration by the settings."""
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
            sweep=timedelta(seconds=settings.sweep_seconds),
            shutdown=timedelta(seconds=settings.shutdown_seconds),
            limits=default_limits(settings),
            max_queue_depth=settings.max_queue_depth,
            max_namespace_jobs=settings.max_namespace_jobs,
        )

    def deadlines(self, asked_at: float) -> LeaseDeadlines:
        """The deadlines of a lease that was asked for at this time: in the store it starts later."""
        return LeaseDeadlines(asked_at + 0.8 * self.lease_seconds, asked_at + 0.9 * self.lease_seconds)

    @property
    def lease_for(self) -> timedelta:
        """The length of the lease to ask the store for."""
        return self.lease + self.lost_margin

    @property
    def lease_seconds(self) -> float:
        """The lease without the margin, in seconds."""
        return self.lease.total_seconds()

    @property
    def poll_seconds(self) -> float:
        """The time between two looks, in seconds."""
        return self.poll.total_seconds()

    @property
    def calm_poll_seconds(self) -> float:
        """The time between two looks, in seconds, while hints work and nothing happens."""
        return max(self.poll_seconds, min(CALM_POLLS * self.poll_seconds, self.lease_seconds / 3))

    @property
    def heartbeat_seconds(self) -> float:
        """The time between two heartbeats, in seconds."""
        beat = self.lease / BEATS_A_LEASE if self.heartbeat is None else self.heartbeat
        return beat.total_seconds()
