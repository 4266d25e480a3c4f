"""How fast a line of jobs is worked off, for whatever product: every one is timed in the same way.

The line is filled first, then the workers are started. The clock runs from the first job's own stamp until
the product itself has nothing pending or running on record, so that starting up is not part of it and
settling is. CPU is that of the workers' processes, and of the server's, between the same two moments.
"""

import subprocess
import time
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Protocol

from bench import processes
from bench.figures import Round
from bench.stamps import Stamps

LONGEST = 90.0
"""Seconds after which a round that hangs is given up."""

_LOOK_EVERY = 0.003


class Queue(Protocol):
    """A product with its queue and its workers."""

    def fill(self, jobs: int, stamps: Path) -> None:
        """Put so many jobs in line, each of which leaves a stamp."""

    def at_work(self) -> "AbstractContextManager[subprocess.Popen[bytes]]":
        """The workers' first process, while the context lasts."""

    def is_drained(self) -> bool:
        """Whether all that was put in line is settled."""

    def server_cpu(self) -> float | None:
        """CPU seconds of the server so far; None where there is none."""


def drain(queue: Queue, stamps: Stamps, *, jobs: int) -> Round:
    """Fill, start, and time until nothing is left."""
    queue.fill(jobs, stamps.path)
    with queue.at_work() as worker:
        look = partial(_expect_running, worker)
        stamps.reach(1, seconds=LONGEST, look=look)
        worker_cpu, server_cpu = processes.cpu(worker.pid), queue.server_cpu()
        stamps.reach(jobs, seconds=LONGEST, look=look)
        await_drained(queue)
        ended = time.monotonic()
        worker_cpu = _spent(worker_cpu, processes.cpu(worker.pid))
        server_cpu = _spent(server_cpu, queue.server_cpu())
    moments = stamps.read()
    if len(moments) != jobs:
        raise RuntimeError(f"{jobs:,} jobs were run {len(moments):,} times")
    return Round(jobs, ended - min(moments), worker_cpu, server_cpu)


def await_drained(queue: Queue, *, seconds: float = LONGEST) -> None:
    """Wait until all is settled; raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not queue.is_drained():
        if time.monotonic() > deadline:
            raise TimeoutError(f"some jobs were not settled after {seconds:g} s")
        time.sleep(_LOOK_EVERY)


def _expect_running(worker: "subprocess.Popen[bytes]") -> None:
    if worker.poll() is not None:
        raise processes.EndedEarly(f"the worker has ended with status {worker.returncode}")


def _spent(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
