"""The rows of the bench of growth: each holds what has grown against what has not, on PostgreSQL."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from itertools import count

from msgspec.structs import replace

from bench import keys_rows, loop, postgres_loop
from bench.figures import Measured, Round
from bench.growth_sizes import Sizes
from bench.loop import FILL_BATCH, JOB
from bench.measure import Contest, compared
from bench.place import Place
from bench.postgres import Database
from bench.rows import BATCH, Row
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.reports.retention import Retention
from tenure.engine.client.retention_walk import LARGEST_STEP
from tenure.engine.upkeep.duties import PRUNE_SHARE
from tenure.storage.contract.store import Store

PAST_AT_ONCE = 100_000
"""Jobs that are enqueued and drained together when there is to be a past."""

LEAST_TURNS = 20
"""Of one worker: the first turn on a connection plans its statements."""

AT_ONCE = Retention(succeeded=timedelta(0), others=timedelta(0), keyed=timedelta(0))

_names = count(1)


class Growth:
    """The rows for these sizes."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.rows = {
            "waiting": Row(self.waiting, 3_600),
            "history": Row(self.history, 7_200),
            "workers": Row(self.workers, 900),
            "keys": Row(self.keys, 1_800),
            "definitions": Row(self.definitions, 900),
        }

    def waiting(self, at: Place) -> Measured:
        """A worker's loop and bulk enqueue, with ever more jobs in line."""
        small, *others = self.sizes.waiting
        found = Measured()
        for jobs in others:
            grown, usual = _stocked(at, jobs), _stocked(at, small)
            names = f"{jobs:,} waiting", f"{small:,} waiting"
            found += self._both(at, f"waiting-{jobs}", names, grown, usual)
        return found

    def history(self, at: Place) -> Measured:
        """The same with a past of jobs that have ended; and while retention removes that past."""
        found = Measured()
        for jobs in self.sizes.history:
            grown, usual = _stocked(at, self.sizes.waiting[0]), _stocked(at, self.sizes.waiting[0])
            _give_past(grown, jobs)
            found += self._both(at, f"history-{jobs}", (f"{jobs:,} ended", "none ended"), grown, usual)
            pruned = Contest(
                partial(_level_while_pruned, grown, self.sizes.turns),
                self._level(usual),
                f"drain, {jobs:,} ended, retention at work",
                "drain, none ended, no retention",
            )
            found += self._compared(at, f"history-{jobs}-pruned", pruned)
        return found

    def workers(self, at: Place) -> Measured:
        """So many workers' loops at once, each with its own connection, on one line of jobs."""
        few, *others = self.sizes.workers
        found, database = Measured(), at.postgres.database(f"growth_{next(_names)}")
        for workers in others:
            contest = Contest(
                partial(side_by_side, database, workers, self.sizes.turns),
                partial(side_by_side, database, few, self.sizes.turns),
                f"drain, {workers} workers",
                f"drain, {few} workers",
            )
            found += self._compared(at, f"workers-{workers}", contest)
        return found

    def keys(self, at: Place) -> Measured:
        """The loop and bulk enqueue, with ever more concurrency keys that are all known already."""
        few, *others = self.sizes.keys
        found = Measured()
        for keys in others:
            grown, usual = self._keyed(at, keys), self._keyed(at, few)
            names = f"{keys:,} keys", f"{few:,} keys"
            for what, prefix, round_ in (
                ("drain", "", self._turns),
                ("enqueue", "enqueue-", self._keyed_enqueue),
            ):
                sides = round_(grown, keys), round_(usual, few)
                contest = Contest(*sides, f"{what}, {names[0]}", f"{what}, {names[1]}")
                found += self._compared(at, f"{prefix}keys-{keys}", contest)
        return found

    def definitions(self, at: Place) -> Measured:
        """The same with ever more definitions, each with a line of its own."""
        few, *others = self.sizes.definitions
        found = Measured()
        for number in others:
            sides = [self._defined(at, definitions) for definitions in (number, few)]
            names = f"{number:,} definitions", f"{few:,} definitions"
            for place, (what, prefix) in enumerate((("drain", ""), ("enqueue", "enqueue-"))):
                contest = Contest(
                    sides[0][place], sides[1][place], f"{what}, {names[0]}", f"{what}, {names[1]}"
                )
                found += self._compared(at, f"{prefix}definitions-{number}", contest)
        return found

    def _both(
        self, at: Place, name: str, names: tuple[str, str], grown: Database, usual: Database
    ) -> Measured:
        drain = Contest(self._level(grown), self._level(usual), f"drain, {names[0]}", f"drain, {names[1]}")
        enqueue = Contest(
            self._filled(grown), self._filled(usual), f"enqueue, {names[0]}", f"enqueue, {names[1]}"
        )
        return self._compared(at, name, drain) + self._compared(at, f"enqueue-{name}", enqueue)

    def _level(self, database: Database) -> Callable[[], Round]:
        return partial(postgres_loop.level_turns, database, batch=BATCH, turns=self.sizes.turns)

    def _filled(self, database: Database) -> Callable[[], Round]:
        return partial(postgres_loop.bulk_enqueues, database, self.sizes.calls * FILL_BATCH)

    def _keyed(self, at: Place, keys: int) -> Database:
        """With jobs of all keys for every round of a drain."""
        database = at.postgres.database(f"growth_{next(_names)}")
        rounds = 2 * (self.sizes.pairs + at.size.repeats)
        jobs = (rounds * self.sizes.turns + keys_rows.SPARE_TURNS) * BATCH
        keys_rows.enqueue_keyed(database, keys, jobs=max(keys, jobs))
        database.tidy()
        return database

    def _keyed_enqueue(self, database: Database, keys: int) -> Callable[[], Round]:
        return partial(keys_rows.enqueue_keyed, database, keys, jobs=self.sizes.calls * FILL_BATCH)

    def _turns(self, database: Database, _keys: int) -> Callable[[], Round]:
        work = partial(loop.turns, batch=BATCH, count=self.sizes.turns)
        return partial(postgres_loop.timed, database, work)

    def _defined(self, at: Place, number: int) -> tuple[Callable[[], Round], Callable[[], Round]]:
        """A drain and an enqueue with so many definitions, and jobs for every round of the drain."""
        database = at.postgres.database(f"growth_{next(_names)}")
        jobs = [replace(JOB, definition=f"{JOB.definition}{n}") for n in range(number)]
        rounds = 2 * (self.sizes.pairs + at.size.repeats) + 1
        postgres_loop.timed(
            database, partial(keys_rows.fill, jobs=_cycled(jobs, rounds * self.sizes.turns * BATCH))
        )
        database.tidy()
        lines = tuple(Line(job.queue, job.definition) for job in jobs)
        drain = partial(loop.turns, batch=BATCH, count=self.sizes.turns, lines=lines)
        enqueue = partial(keys_rows.fill, jobs=_cycled(jobs, self.sizes.calls * FILL_BATCH))
        return partial(postgres_loop.timed, database, drain), partial(postgres_loop.timed, database, enqueue)

    def _compared(self, at: Place, name: str, contest: Contest) -> Measured:
        return compared(
            f"growth-{name}", contest, pairs=self.sizes.pairs, watch=at.watch, deadline=at.deadline
        )


def _stocked(at: Place, jobs: int) -> Database:
    database = at.postgres.database(f"growth_{next(_names)}")
    database.stock(jobs)
    return database


def _give_past(database: Database, jobs: int) -> None:
    """Run so many jobs to their end, beside those in line."""
    for left in range(jobs, 0, -PAST_AT_ONCE):
        part = min(left, PAST_AT_ONCE)
        postgres_loop.timed(database, partial(loop.fill, jobs=part))
        postgres_loop.timed(database, partial(loop.turns, batch=BATCH, count=max(1, part // BATCH)))
    database.tidy()


def _level_while_pruned(database: Database, turns: int) -> Round:
    async def work(store: Store) -> Round:
        with _pruning(store):
            return await loop.level_turns(store, batch=BATCH, count=turns)

    return replace(postgres_loop.timed(database, work), server_cpu=None)


@contextmanager
def _pruning(store: Store) -> Iterator[None]:
    """Remove what has ended, at the pace of a worker's duty."""
    task = asyncio.ensure_future(_prune(store))
    try:
        yield
    finally:
        task.cancel()


async def _prune(store: Store) -> None:
    after = None
    with suppress(asyncio.CancelledError):
        while True:
            began = time.monotonic()
            after = (await store.prune(AT_ONCE, after=after, limit=LARGEST_STEP)).next
            took = time.monotonic() - began
            await asyncio.sleep(took / PRUNE_SHARE - took)


def side_by_side(database: Database, workers: int, turns: int) -> Round:
    """As many turns as one worker would do, by all of them together, but not too few each."""
    each = max(LEAST_TURNS, turns // workers)
    database.take(workers * each * BATCH)

    async def work(first: Store) -> Round:
        async with AsyncExitStack() as stack:
            stores: list[Store] = [first]
            for _ in range(workers - 1):
                beside = database.store()
                await beside.open()
                stack.push_async_callback(beside.close)
                stores.append(beside)
            began, cpu = time.perf_counter(), time.process_time()
            async with asyncio.TaskGroup() as group:
                for store in stores:
                    group.create_task(loop.turns(store, batch=BATCH, count=each))
            return Round(workers * each * BATCH, time.perf_counter() - began, time.process_time() - cpu)

    return postgres_loop.timed(database, work)


def _cycled(jobs: list[NewJob], number: int) -> list[NewJob]:
    return [jobs[n % len(jobs)] for n in range(number)]
