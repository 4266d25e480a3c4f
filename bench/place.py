"""Where a run takes place: its folder, its server, its files, how much is done and how long that may take."""

import os
import platform
import shutil
import tempfile
import time
from functools import cached_property
from pathlib import Path

import apsw
from msgspec import Struct

from bench.measure import Watch
from bench.peers import installing
from bench.peers.redis_server import RedisServer
from bench.postgres import Postgres
from bench.sqlite_loop import SqliteFile
from tests.postgres_server import open_temporary_place

IN_MEMORY = ("tmpfs", "ramfs")


class Size(Struct, frozen=True, kw_only=True):
    """How much is done: a full run takes minutes, a quick one proves that the program works."""

    pairs: int
    side_pairs: int
    repeats: int
    postgres_turns: dict[int, int]
    sqlite_turns: dict[int, int]
    level_turns: int
    backlogs: tuple[int, ...]
    held_seconds: float
    held_backlog: int
    keys: int
    """How many are very many."""
    key_turns: int
    footprint_jobs: int
    callers: int
    calls_together: int
    calls_apart: int
    bulk_jobs: int
    round_trips: int
    latency_blocks: int
    latency_jobs: int
    drain_jobs: int
    telling_jobs: int
    """For the lane `async`, which is faster."""
    keyed_jobs: int
    """The same with concurrency keys."""
    idle_seconds: int
    drain_seconds: float
    """How long a drain beside a rival is to take; a trial says how many jobs that needs."""
    call_seconds: float
    """The same for a caller that enqueues."""
    peer_jobs: int
    """How many jobs the trial has, at most; without seconds, how many a round has."""
    other_pairs: int
    """For rivals that no goal speaks of."""
    peer_starts: int
    pace_seconds: float
    """How long jobs come at one pace; at least forty of them, or as many as twenty seconds have."""
    memory_jobs: int
    http_calls: int
    first_calls: int
    schedules: int
    beside_seconds: float
    """How long a drain beside schedules that fire is watched; as many fire as in that part of a minute."""
    past_jobs: int
    """How many jobs there are when pages are measured."""
    page_calls: int
    cold_pages: int
    """How many addresses are asked with nothing in memory, at most; each needs a server of its own."""
    watched_jobs: int
    """Jobs whose changes are awaited in a browser."""


FULL = Size(
    pairs=7,
    side_pairs=3,
    repeats=3,
    postgres_turns={1: 1_000, 10: 800, 100: 300, 500: 60},
    sqlite_turns={1: 1_000, 10: 800, 100: 300, 500: 60},
    level_turns=250,
    backlogs=(1_000, 100_000, 1_000_000),
    held_seconds=60.0,
    held_backlog=10_000,
    keys=10_000,
    key_turns=150,
    footprint_jobs=50_000,
    callers=128,
    calls_together=20_000,
    calls_apart=4_000,
    bulk_jobs=50_000,
    round_trips=2_000,
    latency_blocks=5,
    latency_jobs=50,
    drain_jobs=600,
    telling_jobs=10_000,
    keyed_jobs=20_000,
    idle_seconds=30,
    drain_seconds=2.5,
    call_seconds=1.5,
    peer_jobs=2_000,
    other_pairs=3,
    peer_starts=50,
    pace_seconds=3.0,
    memory_jobs=500_000,
    http_calls=8_000,
    first_calls=9,
    schedules=10_000,
    beside_seconds=15.0,
    past_jobs=1_000_000,
    page_calls=7,
    cold_pages=1_000,
    watched_jobs=15,
)
QUICK = Size(
    pairs=2,
    side_pairs=1,
    repeats=0,
    postgres_turns={1: 20, 10: 10, 100: 10, 500: 3},
    sqlite_turns={1: 20, 10: 10, 100: 10, 500: 3},
    level_turns=5,
    backlogs=(1_000, 2_000, 4_000),
    held_seconds=0.5,
    held_backlog=1_000,
    keys=200,
    key_turns=2,
    footprint_jobs=1_000,
    callers=128,
    calls_together=512,
    calls_apart=256,
    bulk_jobs=2_000,
    round_trips=50,
    latency_blocks=1,
    latency_jobs=5,
    drain_jobs=30,
    telling_jobs=100,
    keyed_jobs=400,
    idle_seconds=2,
    drain_seconds=0.0,
    call_seconds=0.0,
    peer_jobs=40,
    other_pairs=1,
    peer_starts=3,
    pace_seconds=0.0,
    memory_jobs=400,
    http_calls=256,
    first_calls=1,
    schedules=600,
    beside_seconds=8.0,
    past_jobs=2_000,
    page_calls=1,
    cold_pages=2,
    watched_jobs=1,
)


class Place:
    """One run's surroundings; what a row does not ask for is not started."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.folder = Path(tempfile.mkdtemp(prefix="tenure-bench-", dir=open_temporary_place()))
        self.watch = Watch(self.folder, repeats=size.repeats)
        self.deadline = float("inf")
        self._files = 0

    def close(self) -> None:
        """End what was started and remove every file."""
        for server in ("postgres", "redis"):
            if server in self.__dict__:
                self.__dict__[server].close()
        self.watch.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def allow(self, seconds: float) -> None:
        """Give the row that begins now so much time; pairs that do not fit into it are left out."""
        self.deadline = time.monotonic() + seconds

    @cached_property
    def postgres(self) -> Postgres:
        """The server, started when the first row asks for it."""
        return Postgres()

    @cached_property
    def redis(self) -> RedisServer:
        """The rivals' server, started when the first of them asks for it; raises PeerUnavailable."""
        return RedisServer(self.folder, installing.folder() / "redis")

    def sqlite(self, mode: str) -> SqliteFile:
        """An empty database file."""
        self._files += 1
        return SqliteFile(self.folder / f"bench-{self._files}.db", mode)

    def description(self) -> dict[str, str]:
        """What the figures depend on."""
        system = file_system(self.folder)
        described = {
            "processors": f"{os.cpu_count()} × {_processor()}",
            "Python": platform.python_version(),
            "SQLite": apsw.sqlite_lib_version(),
            "folder on": f"{system}: IN MEMORY, NOTHING IS DURABLE" if system in IN_MEMORY else system,
            "a sync to disk": f"{self.watch.calm.sync * 1e3:.2f} ms at best",
            "the probe's computing": f"{self.watch.calm.spin * 1e3:.2f} ms at best",
        }
        if "postgres" in self.__dict__:
            described["PostgreSQL"] = self.postgres.version()
        return described


def file_system(folder: Path) -> str:
    """The kind of file system that a folder lies on, or `unknown`."""
    mounts = Path("/proc/mounts")
    lines = mounts.read_text().splitlines() if mounts.exists() else []
    found = {Path(point): kind for _, point, kind, *_ in (line.split() for line in lines)}
    inside = folder.resolve()
    return next((found[point] for point in (inside, *inside.parents) if point in found), "unknown")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
