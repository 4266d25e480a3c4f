"""The same work on all processors but one and on all: whether what a job costs foretells the speed."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from bench import processes
from bench.figures import Measured, Round
from bench.growth_rows import side_by_side
from bench.growth_sizes import Sizes
from bench.measure import Contest, compared
from bench.place import Place
from bench.postgres import Database

CORES = "growth-cores"
WORKERS = 4
"""Enough that none of two processors ever waits for a worker's answer."""


def cores(at: Place, sizes: Sizes) -> Measured:
    """Four workers' loops and the server, confined to one processor less than there are."""
    database = at.postgres.database("cores")
    all_cores = sorted(os.sched_getaffinity(0))
    if len(all_cores) < 2:
        return Measured(remarks=["cores: there is one processor only"])
    run = partial(side_by_side, database, WORKERS, sizes.turns)
    fewer = partial(_confined, database, set(all_cores[1:]), run)
    names = f"drain, {len(all_cores) - 1} of {len(all_cores)} cores", f"drain, {len(all_cores)} cores"
    return compared(
        CORES, Contest(fewer, run, *names), pairs=sizes.pairs, watch=at.watch, deadline=at.deadline
    )


def _confined(database: Database, allowed: set[int], run: Callable[[], Round]) -> Round:
    with _on(allowed, database):
        return run()


@contextmanager
def _on(allowed: set[int], database: Database) -> Iterator[None]:
    """Confine this process and the server; its new processes take after the first of them."""
    before = os.sched_getaffinity(0)
    _confine(database, allowed)
    try:
        yield
    finally:
        _confine(database, before)


def _confine(database: Database, allowed: set[int]) -> None:
    server = database.postgres.server.pid
    for pid in [0, *(processes.family(server) if server else [])]:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(pid, allowed)
