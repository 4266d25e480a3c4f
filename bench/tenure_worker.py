"""The command `tenure worker` as a process: how soon it starts a job, how it drains, what it costs idle."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from bench import processes
from bench.drain import LONGEST, await_drained
from bench.jobs import STAMP, program
from bench.postgres import Database, ask
from bench.sites import Site
from bench.stamps import Stamps
from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.core.values.bounds import LARGEST_BATCH

ROOT = Path(__file__).parent.parent
PROGRAM = "bench.jobs:app"
PAUSES = (0.05, 0.15)
"""Seconds between two jobs of an idle worker: at random, so that no polling pace is met."""

KEYED_AT_ONCE = 10
"""How many jobs of a key may run at once: of ten keys as many as the lane `async` has slots."""

SETTLE_DOWN = 2.0
"""Seconds after which a worker that has just started counts as idle."""

_logs = count(1)


class TenureQueue:
    """A database and one worker with so many slots, which may be told to tell all that it can of itself."""

    def __init__(
        self,
        site: Site,
        folder: Path,
        *,
        slots: int | None = None,
        lane: str = "process",
        spans_to: str | None = None,
        keys: int = 0,
    ) -> None:
        """With `spans_to` it exports spans to that address, and offers its metrics.

        With `keys`, jobs have concurrency keys in turn, so many and new each time.
        """
        self._site = site
        self._folder = folder
        self._program = PROGRAM if lane == "process" else f"bench.lane_jobs:{lane}_app"
        self._flags = [] if slots is None else ["--slots", str(slots)]
        self._variables: dict[str, str] = {}
        if spans_to is not None:
            self._flags += ["--metrics-port", "0"]
            self._variables = {"TENURE_TRACING": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": spans_to}
        self._keys = keys
        self._awaited = 0
        self._settled_before = site.settled()

    def fill(self, jobs: int, stamps: Path) -> None:
        """In as few transactions as can be; then what that has left for later is done."""
        with program(self._site.address) as app:
            new = app.new_job(STAMP, {"stamps": str(stamps)})
            all_of_them = [new] * jobs if not self._keys else keyed(new, self._keys, jobs)
            for first in range(0, jobs, LARGEST_BATCH):
                app.enqueue_many_sync(all_of_them[first : first + LARGEST_BATCH])
        self._settled_before, self._awaited = self._site.settled(), jobs
        self._site.tidy()

    @contextmanager
    def at_work(self) -> "Iterator[subprocess.Popen[bytes]]":
        """The worker, ready."""
        log = self._folder / f"worker-{next(_logs)}.log"
        environment = {**os.environ, "NO_COLOR": "1", **self._variables}
        command = (sys.executable, "-m", "tenure", "worker", self._program, "--database", self._site.address)
        with processes.started(
            [*command, *self._flags], log=log, folder=ROOT, environment=environment
        ) as worker:
            processes.await_line('"worker.ready"', log, worker, seconds=LONGEST)
            yield worker

    def expect(self, jobs: int) -> None:
        """So many more jobs were put in line."""
        self._awaited += jobs

    def is_drained(self) -> bool:
        """By the attempts on record."""
        return self._site.settled() >= self._settled_before + self._awaited

    def server_cpu(self) -> float | None:
        """Of the site's server."""
        return self._site.server_cpu()


def keyed(new: NewJob, keys: int, jobs: int) -> list[NewJob]:
    """So many jobs, in turn under so many keys that no other job has."""
    prefix = f"{time.monotonic_ns()}-"
    limits = [(Limit("tenant", f"{prefix}{key}", KEYED_AT_ONCE),) for key in range(keys)]
    return [replace(new, limits=limits[number % keys]) for number in range(jobs)]


class Start(NamedTuple):
    """Milliseconds to a handler's first line: from before the call of enqueue, and from its return."""

    called: float
    returned: float


def starts(site: Site, queue: TenureQueue, stamps: Stamps, *, jobs: int) -> list[Start]:
    """Enqueue one job after another for a worker that runs, each when the one before is settled."""
    found = []
    with program(site.address) as app:
        app.enqueue_sync(STAMP, {"stamps": str(stamps.path)})  # so that everybody is connected
        queue.expect(1)
        for _ in range(jobs):
            await_drained(queue)
            time.sleep(random.uniform(*PAUSES))
            before = len(stamps)
            called = time.monotonic()
            app.enqueue_sync(STAMP, {"stamps": str(stamps.path)})
            returned = time.monotonic()
            queue.expect(1)
            stamps.reach(before + 1, seconds=LONGEST, pause=0.001)
            began = stamps.read()[before]
            found.append(Start((began - called) * 1e3, (began - returned) * 1e3))
        await_drained(queue)
    return found


class Idle(NamedTuple):
    """What an idle worker takes: bytes from time to time, CPU and queries a second."""

    bytes: list[int]
    cpu: float
    queries: float | None


def idle(queue: TenureQueue, database: Database | None, *, seconds: int) -> Idle:
    """Watch a worker that has nothing to do. Its queries are counted where its store is a server."""
    with queue.at_work() as worker, _unattended(database):
        time.sleep(SETTLE_DOWN)
        began, cpu, queries = time.monotonic(), processes.cpu(worker.pid), _transactions(database)
        sizes = []
        for _ in range(seconds):
            time.sleep(1.0)
            sizes.append(processes.memory(worker.pid) or 0)
        took = time.monotonic() - began
        used = (processes.cpu(worker.pid) or 0.0) - (cpu or 0.0)
        asked = _transactions(database)
    return Idle(sizes, used / took, None if asked is None or queries is None else (asked - queries) / took)


def _transactions(database: Database | None) -> int | None:
    """How many there have been in a database, by the server's own count; asked from another database."""
    if database is None:
        return None
    name = database.dsn.rpartition("/")[2]
    statement = f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'"
    return int(ask(database.postgres.server.dsn("postgres"), statement))


@contextmanager
def _unattended(database: Database | None) -> Iterator[None]:
    """Without autovacuum, whose transactions would be counted, too."""
    if database is None:
        yield
        return
    server = database.postgres.server.dsn("postgres")
    ask(server, "ALTER SYSTEM SET autovacuum = off")
    ask(server, "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        ask(server, "ALTER SYSTEM RESET autovacuum")
        ask(server, "SELECT pg_reload_conf()")
