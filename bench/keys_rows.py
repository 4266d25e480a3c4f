"""The rows of the storage bench about concurrency keys: very many of them beside a few."""

import time
from collections.abc import Callable
from functools import partial
from itertools import count

from msgspec.structs import replace

from bench import loop, postgres_loop
from bench.figures import Measured, Round, Speed, figure_of
from bench.loop import FILL_BATCH, JOB
from bench.measure import Contest, compared
from bench.place import Place
from bench.postgres import Database
from bench.sqlite_loop import SqliteFile
from tenure.core.model.job import NewJob
from tenure.core.model.limit import Limit
from tenure.storage.contract.store import Store

FEW = 10
AT_ONCE = 10
"""How many jobs of a key may run at once: of a few keys together as many as a batch has."""

BATCH = FEW * AT_ONCE
NEW_AT_ONCE = 2
"""The same of keys that are new; each brings so many slots with it."""

SPARE_TURNS = 10
"""Turns that no round takes: the last jobs of a stock have too few keys for a whole claim to run at once."""

_names = count(1)


def enqueue_row(at: Place) -> Measured:
    """Jobs with as many new keys, a thousand a call, in an empty database each time."""
    found = Measured()
    for store, goal in (("PostgreSQL", "keys-enqueue"), ("SQLite", "keys-enqueue-sqlite")):
        rounds = [
            enqueue_keyed(_home(at, store), at.size.keys, jobs=at.size.keys, at_once=NEW_AT_ONCE)
            for _ in range(at.size.side_pairs)
        ]
        rates = [each.jobs / each.seconds for each in rounds]
        found += Measured(
            [figure_of(goal, rates, unit="a second", of="rounds")],
            [Speed(f"{store}: enqueue, {at.size.keys:,} new keys", rounds)],
        )
    return found


def drain_row(at: Place) -> Measured:
    """The worker's loop with very many keys beside the loop with a few."""
    found = Measured()
    for store, goal in (("PostgreSQL", "keys-drain"), ("SQLite", "keys-drain-sqlite")):
        contest = Contest(
            _draining(at, store, at.size.keys),
            _draining(at, store, FEW),
            f"{store}: loop, {at.size.keys:,} keys",
            f"{store}: loop, {FEW} keys",
        )
        found += compared(goal, contest, pairs=at.size.side_pairs, watch=at.watch, deadline=at.deadline)
    return found


def _draining(at: Place, store: str, keys: int) -> Callable[[], Round]:
    home = _home(at, store)
    rounds = 2 * (at.size.side_pairs + at.size.repeats)
    enqueue_keyed(home, keys, jobs=max(at.size.keys, (rounds * at.size.key_turns + SPARE_TURNS) * BATCH))
    if isinstance(home, Database):
        home.tidy()
    return partial(timed, home, lambda opened: loop.turns(opened, batch=BATCH, count=at.size.key_turns))


def _home(at: Place, store: str) -> Database | SqliteFile:
    return at.sqlite("FULL") if store == "SQLite" else at.postgres.database(f"keys_{next(_names)}")


def enqueue_keyed(home: Database | SqliteFile, keys: int, *, jobs: int, at_once: int = AT_ONCE) -> Round:
    """So many jobs in turn under so many keys, in large batches one after another."""
    keyed = [replace(JOB, limits=(Limit("tenant", str(key), at_once),)) for key in range(keys)]
    return timed(home, partial(fill, jobs=[keyed[number % keys] for number in range(jobs)]))


async def fill(store: Store, jobs: list[NewJob]) -> Round:
    """Enqueue these jobs in large batches, one after another."""
    began, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(jobs), FILL_BATCH):
        await store.enqueue(jobs[first : first + FILL_BATCH])
    return Round(len(jobs), time.perf_counter() - began, time.process_time() - cpu)


def timed(home: Database | SqliteFile, work: loop.Work) -> Round:
    return home.timed(work) if isinstance(home, SqliteFile) else postgres_loop.timed(home, work)
